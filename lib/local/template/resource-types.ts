/**
 * The values of `Ref` and `Fn::GetAtt` for each resource type, and the property that contains its name.
 * A type that is not listed stops the start: implement it, or list it in `withoutLocalBehaviour`.
 */
import { arn, arns, awsEnvironment, queueUrl } from '../aws-environment.ts';

export interface Naming {
  /** unique over all stacks, like the names that CloudFormation generates */
  readonly generated: string;
  /** the resource's own name: from its property, or the generated one */
  readonly name: string;
  /** the AWS endpoint of this cloud */
  readonly endpoint: string;
  /** the URL of the WebSocket API */
  readonly sockets: string;
  readonly property: (name: string) => unknown;
}

export interface ResourceType {
  readonly nameProperty?: string;
  /** adapts a generated name to the service's rules, which CloudFormation's own name would violate */
  readonly shapeName?: (generated: string, property: Naming['property']) => string;
  readonly ref: (naming: Naming) => string;
  readonly attributes: Readonly<Record<string, (naming: Naming) => string>>;
}

const byName = ({ name }: Naming): string => name;

const named = (nameProperty: string, arnOf: (name: string) => string): ResourceType => ({
  nameProperty,
  ref: byName,
  attributes: { Arn: ({ name }) => arnOf(name) },
});

const byId: ResourceType = { ref: ({ generated }) => generated, attributes: {} };

const table = named('TableName', arns.table);
const textOr = (value: unknown, fallback: string): string => (typeof value === 'string' ? value : fallback);

const knownTypes: Readonly<Record<string, ResourceType>> = {
  'AWS::DynamoDB::Table': table,
  'AWS::DynamoDB::GlobalTable': table,
  'AWS::SQS::Queue': {
    nameProperty: 'QueueName',
    shapeName: (generated, property) => `${generated.slice(0, 75)}${property('FifoQueue') === true ? '.fifo' : ''}`,
    ref: ({ endpoint, name }) => queueUrl(endpoint, name),
    attributes: {
      Arn: ({ name }) => arns.queue(name),
      QueueName: byName,
      QueueUrl: ({ endpoint, name }) => queueUrl(endpoint, name),
    },
  },
  'AWS::SQS::QueuePolicy': byId,
  'AWS::S3::Bucket': {
    nameProperty: 'BucketName',
    shapeName: (generated) =>
      generated
        .toLowerCase()
        .replace(/[^a-z0-9-]/g, '-')
        .slice(0, 63),
    ref: byName,
    attributes: { Arn: ({ name }) => arns.bucket(name) },
  },
  'AWS::Lambda::Function': named('FunctionName', arns.lambda),
  'AWS::Lambda::EventSourceMapping': byId,
  'AWS::Lambda::EventInvokeConfig': byId,
  'AWS::IAM::Role': named('RoleName', arns.role),
  'AWS::IAM::Policy': byId,
  'AWS::IAM::ManagedPolicy': { ref: ({ name }) => arns.policy(name), nameProperty: 'ManagedPolicyName', attributes: {} },
  'AWS::Events::EventBus': {
    ...named('Name', arns.eventBus),
    attributes: { Arn: ({ name }) => arns.eventBus(name), Name: byName },
  },
  'AWS::Events::Rule': {
    ...named('Name', arns.rule),
    attributes: { Arn: ({ name, property }) => arns.rule(name, textOr(property('EventBusName'), 'default')) },
  },
  'AWS::SecretsManager::Secret': { nameProperty: 'Name', ref: ({ name }) => arns.secret(name), attributes: {} },
  'AWS::Scheduler::ScheduleGroup': named('Name', arns.scheduleGroup),
  'AWS::Scheduler::Schedule': {
    nameProperty: 'Name',
    ref: byName,
    attributes: { Arn: ({ name, property }) => arns.schedule(textOr(property('GroupName'), 'default'), name) },
  },
  'AWS::ApiGateway::RestApi': {
    ...byId,
    attributes: { RootResourceId: ({ generated }) => `${generated}-root`, RestApiId: ({ generated }) => generated },
  },
  'AWS::ApiGateway::Resource': byId,
  'AWS::ApiGateway::Method': byId,
  'AWS::ApiGateway::GatewayResponse': byId,
  'AWS::ApiGateway::Deployment': { ...byId, attributes: { DeploymentId: ({ generated }) => generated } },
  'AWS::ApiGateway::Stage': { nameProperty: 'StageName', ref: byName, attributes: {} },
  'AWS::ApiGatewayV2::Api': {
    ...byId,
    attributes: {
      // Functions post to sockets at this address. Programs find the HTTP API by `local.json`.
      ApiEndpoint: ({ sockets, generated, property }) =>
        property('ProtocolType') === 'HTTP'
          ? `https://${generated.toLowerCase()}.execute-api.${awsEnvironment.region}.${awsEnvironment.urlSuffix}`
          : sockets,
      ApiId: ({ generated }) => generated,
    },
  },
  'AWS::ApiGatewayV2::Integration': byId,
  'AWS::ApiGatewayV2::Route': byId,
  'AWS::ApiGatewayV2::Stage': { nameProperty: 'StageName', ref: byName, attributes: {} },
};

/** A custom resource: `Custom::…`, or the generic type. */
const customResource: ResourceType = { ref: ({ generated }) => generated, attributes: {} };

export const isCustom = (type: string): boolean => type.startsWith('Custom::') || type === 'AWS::CloudFormation::CustomResource';

/**
 * The CDK's custom resource for the notifications of a bucket. Its function is written in Python, so the embedded cloud reads the
 * notifications from the properties and does not run it.
 */
export const bucketNotificationsType = 'Custom::S3BucketNotifications';

/** The definition of a type; undefined where it is unknown. */
export const findType = (type: string): ResourceType | undefined =>
  isCustom(type) ? customResource : (knownTypes[type] ?? withoutLocalBehaviour[type]);

export const hasNoBehaviour = (type: string): boolean => !isCustom(type) && knownTypes[type] === undefined;

/** Types without effects on a laptop. They are listed, so that an unknown type is an error. */
const withoutLocalBehaviour: Readonly<Record<string, ResourceType>> = {
  'AWS::ApiGateway::Account': byId,
  'AWS::ApiGateway::RequestValidator': byId,
  'AWS::ApiGatewayV2::RouteResponse': byId,
  'AWS::CDK::Metadata': byId,
  'AWS::CloudWatch::Alarm': named('AlarmName', (name) => arn('cloudwatch', `alarm:${name}`)),
  'AWS::CloudWatch::CompositeAlarm': named('AlarmName', (name) => arn('cloudwatch', `alarm:${name}`)),
  'AWS::CloudWatch::Dashboard': byId,
  'AWS::Lambda::Permission': byId,
  'AWS::Logs::LogGroup': named('LogGroupName', arns.logGroup),
  'AWS::Logs::MetricFilter': byId,
  'AWS::S3::BucketPolicy': byId,
  'AWS::SNS::Topic': {
    nameProperty: 'TopicName',
    ref: ({ name }) => arn('sns', name),
    attributes: { TopicArn: ({ name }) => arn('sns', name) },
  },
  'AWS::SNS::TopicPolicy': byId,
  'AWS::SNS::Subscription': byId,
};
