/** The HTTP API: a regional REST API, the only API Gateway type that supports response streaming. */
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import type * as acm from 'aws-cdk-lib/aws-certificatemanager';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as route53 from 'aws-cdk-lib/aws-route53';
import * as targets from 'aws-cdk-lib/aws-route53-targets';
import * as wafv2 from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { accessLogFormat } from './access-log.ts';
import type { FunctionName } from '../contract/environment.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import { installationName } from './installation-name.ts';

export interface Domain {
  readonly name: string;
  /** A certificate for the name, in the region of the stack. */
  readonly certificate: acm.ICertificate;
  /** Hosted zone for the DNS record of the name. Default: none; create the record yourself. */
  readonly hostedZone?: route53.IHostedZone;
}

export interface HttpApiProps {
  readonly api: lambda.IFunction;
  /** the events function; undefined: not bundled, and its route returns 404 */
  readonly events: lambda.IFunction | undefined;
  /** functions of parts of the API; undefined: not bundled, and their routes return 404 */
  readonly functionFor: (name: FunctionName) => lambda.IFunction | undefined;
  /** origins of web pages that may call the API */
  readonly corsOrigins: readonly string[];
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly logRetention: logs.RetentionDays;
  readonly encryptionKey: kms.IKey | undefined;
  readonly domain: Domain | undefined;
  readonly webAclArn: string | undefined;
  readonly setsAccountLogRole: boolean;
}

/** The parts of the API that have a separate function, by their paths under `/v1`. */
const functionsByPath = {
  deployments: 'deployments',
  apps: 'deployments',
  webhooks: 'webhooks',
  world: 'world',
  queue: 'world',
  lenses: 'library',
  queries: 'library',
  schedules: 'library',
  keys: 'library',
  sessions: 'library',
  session: 'library',
  audit: 'library',
  embeds: 'library',
  installation: 'library',
  catalogue: 'library',
  'openapi.json': 'library',
} as const satisfies Record<string, FunctionName>;

/**
 * The gateway decodes the bodies of other types as text. A pattern for all types would make the bodies of all routes larger, so these
 * are the types that webhooks of apps receive.
 */
const binaryMediaTypes = [
  'multipart/form-data',
  'application/octet-stream',
  'application/cbor',
  'application/gzip',
  'application/pdf',
  'application/protobuf',
  'application/x-protobuf',
  'application/zip',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
] as const;

/** The name that the CDK gives by default. */
const stageName = 'prod';

/** API Gateway's maximum duration of a streamed response. */
const maxStreamDuration = Duration.minutes(15);

export class HttpApi extends Construct {
  readonly restApi: apigateway.RestApi;
  /** Without a slash at the end. It does not refer to the stage, because the stage depends on the functions. */
  readonly address: string;

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id);
    const accessLogs = new logs.LogGroup(this, 'AccessLogs', {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
      ...(props.encryptionKey === undefined ? {} : { encryptionKey: props.encryptionKey }),
    });
    this.restApi = new apigateway.RestApi(this, 'RestApi', {
      // The gateway's metrics have the API name as their only dimension.
      restApiName: installationName(this),
      description: 'Stepwell',
      endpointConfiguration: { types: [apigateway.EndpointType.REGIONAL] },
      // A multipart form contains an archive, whose bytes the gateway would change if it decoded the body as text.
      binaryMediaTypes: [...binaryMediaTypes],
      disableExecuteApiEndpoint: props.domain !== undefined,
      // The role with which all REST APIs of the account write logs. It is retained, because other APIs depend on it.
      cloudWatchRole: props.setsAccountLogRole,
      ...(props.setsAccountLogRole ? { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN } : {}),
      deployOptions: {
        stageName,
        accessLogDestination: new apigateway.LogGroupLogDestination(accessLogs),
        accessLogFormat: apiLogFormat(),
        loggingLevel: apigateway.MethodLoggingLevel.ERROR,
        // Execution logs would contain request bodies, which are users' data.
        dataTraceEnabled: false,
        throttlingRateLimit: props.requestsPerSecond,
        throttlingBurstLimit: props.requestBurst,
      },
    });
    const { region, urlSuffix } = Stack.of(this);
    this.address =
      props.domain === undefined
        ? `https://${this.restApi.restApiId}.execute-api.${region}.${urlSuffix}/${stageName}`
        : `https://${props.domain.name}`;
    this.addRoutes(props);
    addGatewayResponses(this.restApi, props.corsOrigins);
    if (props.domain !== undefined) this.addDomain(props.domain);
    if (props.webAclArn !== undefined) {
      new wafv2.CfnWebACLAssociation(this, 'WebAcl', {
        resourceArn: this.restApi.deploymentStage.stageArn,
        webAclArn: props.webAclArn,
      });
    }
    this.acknowledge(props);
  }

  private addRoutes({ api, events, functionFor }: HttpApiProps): void {
    const apiIntegration = new apigateway.LambdaIntegration(api, { scopePermissionToMethod: false });
    // A resource takes precedence over the greedy proxy resource above it, so each one needs its own method ANY.
    const v1 = this.restApi.root.addResource('v1');
    const runs = v1.addResource('runs');
    const run = runs.addResource('{runId}');
    const runEvents = run.addResource('events');
    for (const resource of [v1, v1.addProxy({ anyMethod: false }), runs, run, run.addProxy({ anyMethod: false }), runEvents]) {
      resource.addMethod('ANY', apiIntegration);
    }
    for (const [path, name] of Object.entries(functionsByPath)) {
      const fn = functionFor(name);
      if (fn === undefined) continue;
      const integration = new apigateway.LambdaIntegration(fn, { scopePermissionToMethod: false });
      const collection = v1.addResource(path);
      for (const resource of [collection, collection.addProxy({ anyMethod: false })]) resource.addMethod('ANY', integration);
    }
    const library = functionFor('library');
    if (library !== undefined) {
      const integration = new apigateway.LambdaIntegration(library, { scopePermissionToMethod: false });
      const embed = this.restApi.root.addResource('embed');
      for (const resource of [embed, embed.addProxy({ anyMethod: false })]) resource.addMethod('ANY', integration);
    }
    const webhooks = functionFor('webhooks');
    if (webhooks !== undefined) {
      const integration = new apigateway.LambdaIntegration(webhooks, { scopePermissionToMethod: false });
      const devkit = this.restApi.root.addResource('devkit');
      for (const resource of [devkit, devkit.addProxy({ anyMethod: false })]) resource.addMethod('ANY', integration);
    }
    const stopFunction = functionFor('test-runs');
    if (stopFunction !== undefined) {
      const stop = new apigateway.LambdaIntegration(stopFunction, { scopePermissionToMethod: false });
      run.addResource('stop').addMethod('ANY', stop);
    }
    const consoleFunction = functionFor('console');
    if (consoleFunction !== undefined) {
      const page = new apigateway.LambdaIntegration(consoleFunction, {
        scopePermissionToMethod: false,
        // The gateway passes streamed bytes on as they are, so compressed assets need no binary media types.
        responseTransferMode: apigateway.ResponseTransferMode.STREAM,
      });
      const root = this.restApi.root.addResource('console');
      for (const resource of [root, root.addProxy({ anyMethod: false })]) resource.addMethod('ANY', page);
    }
    if (events === undefined) return;
    runEvents.addMethod(
      'GET',
      new apigateway.LambdaIntegration(events, {
        scopePermissionToMethod: false,
        responseTransferMode: apigateway.ResponseTransferMode.STREAM,
        timeout: maxStreamDuration,
      }),
    );
  }

  private addDomain({ name, certificate, hostedZone }: Domain): void {
    const domain = this.restApi.addDomainName('Domain', {
      domainName: name,
      certificate,
      endpointType: apigateway.EndpointType.REGIONAL,
      securityPolicy: apigateway.SecurityPolicy.TLS_1_2,
    });
    if (hostedZone === undefined) return;
    const target = route53.RecordTarget.fromAlias(new targets.ApiGatewayDomain(domain));
    new route53.ARecord(this, 'Ipv4', { zone: hostedZone, recordName: name, target });
  }

  private acknowledge({ webAclArn, setsAccountLogRole }: HttpApiProps): void {
    const authenticationReason =
      'The functions authenticate each route with API keys that have scopes, expiry and revocation, and people by sessions of such keys.';
    Validations.of(this.restApi).acknowledge(
      {
        id: 'AwsSolutions-APIG2',
        reason: 'The functions validate bodies with the route schemas and report every error.',
      },
      { id: 'AwsSolutions-APIG4', reason: authenticationReason },
      { id: 'AwsSolutions-COG4', reason: authenticationReason },
    );
    if (webAclArn === undefined) {
      Validations.of(this.restApi).acknowledge({
        id: 'AwsSolutions-APIG3',
        reason: 'A web ACL has a monthly price and is optional: webAclArn attaches one. Rates are limited per key and per stage.',
      });
    }
    if (setsAccountLogRole) {
      Validations.of(this.restApi).acknowledge({
        id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
        reason: 'This is the account-wide role that API Gateway documents; it may only write logs.',
      });
    }
  }
}

/** Access log fields. The path is left out because it can contain a token; `resourcePath` names the route. */
const apiLogFormat = (): apigateway.AccessLogFormat => {
  const { AccessLogField: field } = apigateway;
  return accessLogFormat({
    method: field.contextHttpMethod(),
    resourcePath: field.contextResourcePath(),
    status: field.contextStatus(),
    bytes: field.contextResponseLength(),
    latencyMs: field.contextResponseLatency(),
    integrationLatencyMs: field.contextIntegrationLatency(),
    gatewayResponseType: field.contextErrorResponseType(),
  });
};
