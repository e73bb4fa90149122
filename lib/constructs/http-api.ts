/** The HTTP API: a regional REST API, because of all gateways only that one streams an answer. */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import type * as acm from 'aws-cdk-lib/aws-certificatemanager';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as route53 from 'aws-cdk-lib/aws-route53';
import * as targets from 'aws-cdk-lib/aws-route53-targets';
import * as wafv2 from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import type { FunctionName } from '../contract/environment.ts';
import { accessLogFormat } from './access-log.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import { installationName } from './installation-name.ts';

export interface Domain {
  readonly name: string;
  /** A certificate for the name, in the region of the stack. */
  readonly certificate: acm.ICertificate;
  /** Where the name is pointed at the API. Default: nowhere, it is done by hand. */
  readonly hostedZone?: route53.IHostedZone;
}

export interface HttpApiProps {
  readonly api: lambda.IFunction;
  /** Streams the events of a run; undefined: not built yet, the route answers like any other that does not exist. */
  readonly events: lambda.IFunction | undefined;
  /** Answers a part of the API; undefined: not built, its routes answer like any that do not exist. */
  readonly functionFor: (name: FunctionName) => lambda.IFunction | undefined;
  /** origins of pages that may call the API from a browser */
  readonly corsOrigins: readonly string[];
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly logRetention: logs.RetentionDays;
  readonly encryptionKey: kms.IKey | undefined;
  readonly domain: Domain | undefined;
  readonly webAclArn: string | undefined;
  readonly setsAccountLogRole: boolean;
}

/** The parts of the API with a function of their own, by their paths under `/v1`. */
const functionsByPath = {
  deployments: 'deployments',
  webhooks: 'webhooks',
  lenses: 'library',
  queries: 'library',
  schedules: 'library',
  keys: 'library',
  audit: 'library',
  'openapi.json': 'library',
} as const satisfies Record<string, FunctionName>;

/** The longest that API Gateway keeps a streamed answer open. */
const maxStreamDuration = Duration.minutes(15);

export class HttpApi extends Construct {
  readonly restApi: apigateway.RestApi;

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id);
    const accessLogs = new logs.LogGroup(this, 'AccessLogs', {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
      ...(props.encryptionKey === undefined ? {} : { encryptionKey: props.encryptionKey }),
    });
    this.restApi = new apigateway.RestApi(this, 'RestApi', {
      // Its metrics have no other dimension.
      restApiName: installationName(this),
      description: 'Stepwell',
      endpointConfiguration: { types: [apigateway.EndpointType.REGIONAL] },
      // A form holds an archive: as text its bytes would be changed on the way.
      binaryMediaTypes: ['multipart/form-data'],
      disableExecuteApiEndpoint: props.domain !== undefined,
      // The role with which all APIs of the account write logs; it stays when this stack goes, because others rely on it.
      cloudWatchRole: props.setsAccountLogRole,
      ...(props.setsAccountLogRole ? { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN } : {}),
      deployOptions: {
        accessLogDestination: new apigateway.LogGroupLogDestination(accessLogs),
        accessLogFormat: accessLogFormat(),
        loggingLevel: apigateway.MethodLoggingLevel.ERROR,
        // Bodies hold what users send.
        dataTraceEnabled: false,
        throttlingRateLimit: props.requestsPerSecond,
        throttlingBurstLimit: props.requestBurst,
      },
    });
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
    // A resource hides a greedy one above it from the paths it matches: each of these answers every method by itself.
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
    const stopFunction = functionFor('test-runs');
    if (stopFunction !== undefined) {
      const stop = new apigateway.LambdaIntegration(stopFunction, { scopePermissionToMethod: false });
      run.addResource('stop').addMethod('ANY', stop);
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
      'Every route checks a key of the product itself, with scopes, expiry and revocation; there are no users to log in.';
    Validations.of(this.restApi).acknowledge(
      {
        id: 'AwsSolutions-APIG2',
        reason: 'Bodies are parsed by the schemas of the routes in the function, which also name what is wrong.',
      },
      { id: 'AwsSolutions-APIG4', reason: authenticationReason },
      { id: 'AwsSolutions-COG4', reason: authenticationReason },
    );
    if (webAclArn === undefined) {
      Validations.of(this.restApi).acknowledge({
        id: 'AwsSolutions-APIG3',
        reason:
          'A web ACL costs money at rest and is the choice of the account: webAclArn attaches one. Rates are limited per key and stage.',
      });
    }
    if (setsAccountLogRole) {
      Validations.of(this.restApi).acknowledge({
        id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
        reason: 'The role is the one that API Gateway documents for the whole account; it may write logs and nothing else.',
      });
    }
  }
}
