/** The account and region of the embedded cloud, which belong to no real account. The emulators' own ARNs are never used. */
import { createHash } from 'node:crypto';

export const awsEnvironment = {
  partition: 'aws',
  account: '000000000000',
  region: 'us-east-1',
  urlSuffix: 'amazonaws.com',
} as const;

export const arn = (service: string, resource: string): string =>
  `arn:${awsEnvironment.partition}:${service}:${awsEnvironment.region}:${awsEnvironment.account}:${resource}`;

/** ARNs of global services carry no region, and those of buckets no account either. */
export const arns = {
  table: (name: string): string => arn('dynamodb', `table/${name}`),
  index: (table: string, index: string): string => arn('dynamodb', `table/${table}/index/${index}`),
  queue: (name: string): string => arn('sqs', name),
  bucket: (name: string): string => `arn:${awsEnvironment.partition}:s3:::${name}`,
  object: (bucket: string, key: string): string => `arn:${awsEnvironment.partition}:s3:::${bucket}/${key}`,
  lambda: (name: string): string => arn('lambda', `function:${name}`),
  role: (name: string): string => `arn:${awsEnvironment.partition}:iam::${awsEnvironment.account}:role/${name}`,
  policy: (name: string): string => `arn:${awsEnvironment.partition}:iam::${awsEnvironment.account}:policy/${name}`,
  secret: (name: string): string => arn('secretsmanager', `secret:${name}-${secretSuffixOf(name)}`),
  eventBus: (name: string): string => arn('events', `event-bus/${name}`),
  /** The ARN of a rule on the default bus does not name the bus. `bus` is a name or an ARN. */
  rule: (name: string, bus = 'default'): string =>
    arn('events', lastPart(bus) === 'default' ? `rule/${name}` : `rule/${lastPart(bus)}/${name}`),
  schedule: (group: string, name: string): string => arn('scheduler', `schedule/${group}/${name}`),
  scheduleGroup: (name: string): string => arn('scheduler', `schedule-group/${name}`),
  logGroup: (name: string): string => arn('logs', `log-group:${name}:*`),
};

/** Secrets Manager appends six random letters to a secret's name. Here they follow from the name, so the ARN is stable. */
const secretSuffixOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 6);

/** The queue's URL has the same host string as `AWS_ENDPOINT_URL`: the SDK warns at every call where they differ. */
export const queueUrl = (endpoint: string, name: string): string => `${endpoint}/${awsEnvironment.account}/${name}`;

/** The last part of an ARN or URL path: a queue's or a function's name. */
export const lastPart = (text: string): string => text.slice(Math.max(text.lastIndexOf('/'), text.lastIndexOf(':')) + 1);
