/** The WebSocket API. It is created before the functions, which need its URL; its routes are added afterwards. */
import { defined } from '../base/defined.ts';
import { RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import * as apigatewayv2 from 'aws-cdk-lib/aws-apigatewayv2';
import { WebSocketLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct, type IDependable } from 'constructs';
import { accessLogFormat } from './access-log.ts';
import { installationName } from './installation-name.ts';

export interface SocketStageProps {
  readonly socketFunction: lambda.IFunction;
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly logRetention: logs.RetentionDays;
  readonly encryptionKey: kms.IKey | undefined;
  /** the resource that sets the account's logging role; without the role, a stage cannot have access logs */
  readonly dependsOn: IDependable | undefined;
}

/** The stage name is part of the URL. */
const stageName = 'live';

export class SocketApi extends Construct {
  readonly api: apigatewayv2.WebSocketApi;
  /** URL for clients, `wss://…`; the functions post to the same address over HTTPS */
  readonly url: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.api = new apigatewayv2.WebSocketApi(this, 'Api', {
      apiName: installationName(this),
      description: 'Stepwell: run updates over WebSocket',
      routeSelectionExpression: '$request.body.action',
    });
    this.url = `${this.api.apiEndpoint}/${stageName}`;
  }

  /** ARNs of all connections of the stage: the gateway generates connection ids at run time. */
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
    // One route for all messages: the function parses the action and reports unknown ones.
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
      accessLogSettings: { destination: new apigatewayv2.LogGroupLogDestination(accessLogs), format: apiLogFormat() },
    });
    if (props.dependsOn !== undefined) stage.node.addDependency(props.dependsOn);
    Validations.of(this.api).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason: 'The function of $connect authenticates an API key or a ticket; only authenticated connections can send messages.',
    });
  }
}

/** Without the query, which can contain a ticket, and without message bodies. */
const apiLogFormat = (): apigateway.AccessLogFormat => {
  const { AccessLogField: field } = apigateway;
  return accessLogFormat({
    connectionId: '$context.connectionId',
    eventType: '$context.eventType',
    route: '$context.routeKey',
    status: field.contextStatus(),
    integrationLatencyMs: field.contextIntegrationLatency(),
  });
};
