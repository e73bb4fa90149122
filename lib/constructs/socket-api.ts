/** The WebSocket API: its address is known before the functions are, and its routes are laid to one of them afterwards. */
import { defined } from '../engine/defined.ts';
import { RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import * as apigatewayv2 from 'aws-cdk-lib/aws-apigatewayv2';
import { WebSocketLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct, type IDependable } from 'constructs';
import { installationName } from './installation-name.ts';

export interface SocketStageProps {
  readonly socketFunction: lambda.IFunction;
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly logRetention: logs.RetentionDays;
  readonly encryptionKey: kms.IKey | undefined;
  /** what sets the role with which the account's gateways write logs: without one no stage may have an access log */
  readonly dependsOn: IDependable | undefined;
}

/** The name of the stage is a part of every address. */
const stageName = 'live';

export class SocketApi extends Construct {
  readonly api: apigatewayv2.WebSocketApi;
  /** where clients open sockets, `wss://…`; posts go to the same address over HTTPS */
  readonly url: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.api = new apigatewayv2.WebSocketApi(this, 'Api', {
      apiName: installationName(this),
      description: 'Stepwell: watching runs',
      routeSelectionExpression: '$request.body.action',
    });
    this.url = `${this.api.apiEndpoint}/${stageName}`;
  }

  /** Every connection of this stage, posted to or closed: their ids are made by the gateway, so that none can be named here. */
  get connectionArns(): readonly string[] {
    return ['POST', 'DELETE'].map((method) =>
      Stack.of(this).formatArn({
        service: 'execute-api',
        resource: this.api.apiId,
        resourceName: `${stageName}/${method}/@connections/*`,
      }),
    );
  }

  addStage(props: SocketStageProps): void {
    const integration = new WebSocketLambdaIntegration('Sockets', props.socketFunction);
    this.api.addRoute('$connect', { integration });
    this.api.addRoute('$disconnect', { integration });
    // Every message: the function reads it, and says what is wrong with one that names no action.
    this.api.addRoute('$default', { integration, returnResponse: true });
    const accessLogs = new logs.LogGroup(
      this,
      'AccessLogs',
      defined({
        retention: props.logRetention,
        removalPolicy: RemovalPolicy.DESTROY,
        encryptionKey: props.encryptionKey,
      }),
    );
    const stage = new apigatewayv2.WebSocketStage(this, 'Stage', {
      webSocketApi: this.api,
      stageName,
      autoDeploy: true,
      throttle: { rateLimit: props.requestsPerSecond, burstLimit: props.requestBurst },
      accessLogSettings: { destination: new apigatewayv2.LogGroupLogDestination(accessLogs), format: logFormat() },
    });
    if (props.dependsOn !== undefined) stage.node.addDependency(props.dependsOn);
    Validations.of(this.api).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason:
        'The function that answers $connect checks a key of the product or a ticket, and refuses; only who was let in can send messages.',
    });
  }
}

/** Without the query, which may hold a ticket, and without what is said. */
function logFormat(): apigateway.AccessLogFormat {
  const { AccessLogField: field } = apigateway;
  return apigateway.AccessLogFormat.custom(
    JSON.stringify({
      requestId: field.contextRequestId(),
      at: field.contextRequestTimeEpoch(),
      ip: field.contextIdentitySourceIp(),
      userAgent: field.contextIdentityUserAgent(),
      connectionId: '$context.connectionId',
      eventType: '$context.eventType',
      route: '$context.routeKey',
      status: field.contextStatus(),
      integrationLatencyMs: field.contextIntegrationLatency(),
    }),
  );
}
