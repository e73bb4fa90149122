import { expect, test } from 'vitest';
import { type PortChoices, awsPorts } from '../../lib/aws/aws-ports.ts';
import { DynamoExternalLogs } from '../../lib/aws/external-logs.ts';
import { S3Uploads } from '../../lib/aws/uploads.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { type EnvironmentName, environmentNames } from '../../lib/contract/environment.ts';

const complete: Record<EnvironmentName, string> = {
  runsTable: 'runs',
  controlTable: 'control',
  bucket: 'bucket',
  nodeQueueUrl: 'https://sqs.eu-central-1.amazonaws.com/123456789012/nodes.fifo',
  codeQueueUrl: 'https://sqs.eu-central-1.amazonaws.com/123456789012/code.fifo',
  watchQueueUrl: 'https://sqs.eu-central-1.amazonaws.com/1/watches.fifo',
  socketsUrl: 'wss://sockets.example.com/live',
  nodeConcurrency: '100',
  maxProjectShare: '40',
  delayQueueUrl: 'http://127.0.0.1:4566/000000000000/delays',
  resultsQueueUrl: 'https://sqs.eu-central-1.amazonaws.com/123456789012/results.fifo',
  delayQueueArn: 'arn:aws:sqs:eu-central-1:123456789012:delays',
  scheduleGroup: 'timers',
  scheduleRoleArn: 'arn:aws:iam::123456789012:role/schedules',
  eventBusName: 'bus',
  runEvents: 'all',
  retentionDays: '30',
  idempotencyHours: '24',
  requireHttps: 'true',
  watchers: '50',
  metrics: 'false',
  corsOrigins: 'https://app.example.com,http://localhost:5173',
  privateDestinations: '',
  traces: '{}',
  webhooks: '{}',
  secrets: '{}',
  models: '{}',
  databases: '{}',
  moderation: '{"provider":"none"}',
  console: '1',
  triggers: '1',
  deployed: '1',
  codeVariables: '{}',
  devKitSecretArn: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:runs-AbCdEf',
  encryptsRuns: 'true',
  worldFunction: 'world',
  workerFunction: 'worker',
  codeFunction: 'code',
  apiAddress: 'https://api.example.com',
  codeRoleArn: 'arn:aws:iam::123456789012:role/authors',
};
const variables = Object.fromEntries(
  Object.entries(complete).map(([name, value]) => [environmentNames[name as EnvironmentName], value]),
);

test('settings are read from the variables that the stacks set', () => {
  expect({ ...settingsFrom(variables) }).toEqual({
    ...complete,
    nodeConcurrency: 100,
    maxProjectShare: 40,
    corsOrigins: ['https://app.example.com', 'http://localhost:5173'],
    privateDestinations: [],
    watchers: 50,
    retentionDays: 30,
    idempotencyHours: 24,
    requireHttps: true,
    metrics: false,
    encryptsRuns: true,
  });
});

test.for<[string, string]>([
  ['STEPWELL_RUNS_TABLE', ''],
  ['STEPWELL_NODE_QUEUE_URL', 'nodes.fifo'],
  ['STEPWELL_DELAY_QUEUE_ARN', 'delays'],
  ['STEPWELL_RETENTION_DAYS', 'thirty'],
  ['STEPWELL_RETENTION_DAYS', '0'],
  ['STEPWELL_RUN_EVENTS', 'true'],
])('%s may not be "%s", and the error names it', ([name, value]) => {
  expect(() => ({ ...settingsFrom({ ...variables, [name]: value }) })).toThrow(name);
});

test('a function needs no settings of ports that it does not use', () => {
  const { runsTable, nodeQueueUrl, delayQueueUrl } = environmentNames;
  const given = { [runsTable]: 'runs', [nodeQueueUrl]: complete.nodeQueueUrl, [delayQueueUrl]: complete.delayQueueUrl };
  const ports = awsPorts(settingsFrom(given));
  expect(ports.log).toBe(ports.log);
  expect(ports.jobs).toBe(ports.jobs);
  expect(() => ports.blobs).toThrow('STEPWELL_BUCKET');
  expect(() => ports.workflows).toThrow('STEPWELL_CONTROL_TABLE');
});

test('with all settings every port is available', () => {
  const choices: PortChoices = {
    makeExternalLogs: (table) => new DynamoExternalLogs(table),
    makeUploads: ({ objects, settings, clock }) => new S3Uploads(objects, settings.bucket, clock),
  };
  for (const [name, port] of Object.entries(awsPorts(settingsFrom(variables), undefined, choices)))
    expect(port, name).toBeTypeOf('object');
});
