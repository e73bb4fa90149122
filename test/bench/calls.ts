/** Calls in the form that the embedded cloud records, for a small template with one table. */
import type { WireItem } from '../../bench/item-size.ts';
import type { RecordedCall } from '../../lib/local/recorder.ts';
import type { Resource, Template } from '../../lib/local/template/template.ts';

const resource = (type: string, name: string, logicalId: string, properties: Resource['properties'] = {}): Resource => ({
  stack: 'App',
  logicalId,
  type,
  name,
  ref: name,
  arn: undefined,
  properties,
});

const key = (...names: readonly string[]) => names.map((AttributeName) => ({ AttributeName }));
const all: readonly Resource[] = [
  resource('AWS::DynamoDB::Table', 'Runs', 'RunsTable01234567', {
    KeySchema: key('pk', 'sk'),
    GlobalSecondaryIndexes: [{ IndexName: 'byProject', KeySchema: key('gp', 'gs'), Projection: { ProjectionType: 'KEYS_ONLY' } }],
  }),
  resource('AWS::Lambda::Function', 'app-worker', 'StepwellFunctionsWorkerFunction01234567'),
  resource('AWS::SQS::Queue', 'jobs.fifo', 'StepwellQueuesNodeQueue01234567'),
];
export const template: Template = {
  all,
  of: (...types) => all.filter(({ type }) => types.includes(type)),
  outputs: new Map(),
  ignored: new Map(),
};

export const runId = 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV';
export const partition = `run#p#local#${runId}`;

const call = (service: string, operation: string, input: unknown, output: unknown = {}, status = 200): RecordedCall => ({
  caller: 'app-worker',
  service,
  operation,
  input,
  requestBytes: 0,
  status,
  response: Buffer.from(JSON.stringify(output)),
  tookMs: 1_000,
});

export const put = (item: Record<string, string>, isRefused = false): RecordedCall =>
  call(
    'dynamodb',
    'PutItem',
    { TableName: 'Runs', Item: Object.fromEntries(Object.entries({ pk: partition, ...item }).map(([name, S]) => [name, { S }])) },
    isRefused ? { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException' } : {},
    isRefused ? 400 : 200,
  );

export const update = (UpdateExpression: string, Attributes: WireItem, ReturnValues = 'UPDATED_NEW'): RecordedCall =>
  call(
    'dynamodb',
    'UpdateItem',
    {
      TableName: 'Runs',
      Key: { pk: { S: partition }, sk: { S: 'head' } },
      UpdateExpression,
      ExpressionAttributeNames: { '#gs': 'gs', '#big': 'big' },
      ReturnValues,
    },
    { Attributes },
  );

export const queue = (operation: string, input: object, output: object = {}): RecordedCall =>
  call('sqs', operation, { QueueUrl: 'http://127.0.0.1:1/0/jobs.fifo', ...input }, output);

export const invocation: RecordedCall = call('lambda', 'Invocation', { memoryMb: 512 });
export const failing: RecordedCall = call('dynamodb', 'PutItem', { TableName: 'Runs' }, { __type: 'x#InternalServerError' }, 500);
