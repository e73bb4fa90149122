/** The start API: an HTTP API for the requests that programs send often. It costs less than a REST API, and cannot stream. */
import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import * as apigatewayv2 from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { startApiRoutes } from '../api/start-api.ts';
import { defined } from '../base/defined.ts';
import { accessLogFormat } from './access-log.ts';
import { installationName } from './installation-name.ts';

export interface StartApiProps {
  readonly api: lambda.IFunction;
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly logRetention: logs.RetentionDays;
  readonly encryptionKey: kms.IKey | undefined;
}

export class StartApi extends Construct {
  readonly httpApi: apigatewayv2.HttpApi;
  readonly stage: apigatewayv2.HttpStage;
  /** without a slash at the end; the stage has no part in the path */
  readonly url: string;

  constructor(scope: Construct, id: string, props: StartApiProps) {
    super(scope, id);
    const { api, logRetention, encryptionKey } = props;
    this.httpApi = new apigatewayv2.HttpApi(this, 'Api', {
      apiName: installationName(this),
      description: 'Stepwell: starts, signals and reads of runs',
      // The default stage of the CDK has no access log.
      createDefaultStage: false,
    });
    this.url = this.httpApi.apiEndpoint;
    const integration = new HttpLambdaIntegration('Function', api, {
      // The event of a REST API, which the function gets from there too.
      payloadFormatVersion: apigatewayv2.PayloadFormatVersion.VERSION_1_0,
      scopePermissionToRoute: false,
    });
    for (const [path, methods] of methodsByPath()) this.httpApi.addRoutes({ path, methods: [...methods], integration });
    const accessLogs = new logs.LogGroup(
      this,
      'AccessLogs',
      defined({ retention: logRetention, removalPolicy: RemovalPolicy.DESTROY, encryptionKey }),
    );
    this.stage = new apigatewayv2.HttpStage(this, 'Stage', {
      httpApi: this.httpApi,
      // Of another name, the stage would be a part of the path.
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: props.requestsPerSecond, burstLimit: props.requestBurst },
      accessLogSettings: { destination: new apigatewayv2.LogGroupLogDestination(accessLogs), format: apiLogFormat() },
    });
    Validations.of(this.httpApi).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason: 'The function authenticates each route with API keys that have scopes, expiry and revocation.',
    });
  }
}

/** Each path also has OPTIONS, because the function answers preflights. */
function methodsByPath(): ReadonlyMap<string, ReadonlySet<apigatewayv2.HttpMethod>> {
  const byPath = new Map<string, Set<apigatewayv2.HttpMethod>>();
  for (const { path, method } of startApiRoutes) {
    const methods = byPath.get(path) ?? new Set([apigatewayv2.HttpMethod.OPTIONS]);
    byPath.set(path, methods.add(apigatewayv2.HttpMethod[method]));
  }
  return byPath;
}

/** Without the path, the query, headers and bodies, like the access log of the REST API. `route` names the route. */
const apiLogFormat = (): apigateway.AccessLogFormat => {
  const { AccessLogField: field } = apigateway;
  return accessLogFormat({
    method: field.contextHttpMethod(),
    route: '$context.routeKey',
    status: field.contextStatus(),
    bytes: field.contextResponseLength(),
    latencyMs: field.contextResponseLatency(),
    integrationLatencyMs: field.contextIntegrationLatency(),
    gatewayError: '$context.error.responseType',
  });
};
