/** The real clients with a failing service, over HTTP. */
import { type DynamoDBClient, GetItemCommand, ResourceNotFoundException } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { dynamoClient, queueClient } from '../../lib/aws/clients.ts';
import { callService } from '../../lib/aws/call-service.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { type Answer, type Recorder, startRecorder } from '../contract/emulators/recorder.ts';

let recorder: Recorder;
let answers: (Answer | 'hang up')[] = [];
const exception = (status: number, name: string): Answer => ({
  status,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'no' },
});
const fine: Answer = { status: 200, body: { Item: { pk: { S: 'found' } } } };

beforeEach(async () => {
  recorder = await startRecorder(() => answers.shift() ?? fine);
  vi.stubEnv('AWS_ENDPOINT_URL', recorder.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await recorder.close();
});

const call = (client: DynamoDBClient) =>
  callService('the table', () => client.send(new GetItemCommand({ TableName: 't', Key: { pk: { S: 'a' } } })));
/** A client with one attempt, because the SDK's waits between attempts are long. */
const callOnce = (endpoint = recorder.endpoint) => call(dynamoAt(endpoint, { maxAttempts: 1 }));

test.each([
  ['tables', dynamoClient],
  ['queues', queueClient],
])('the client of %s has no log middleware', (_of, made) => {
  expect(made().middlewareStack.identify().join()).toMatch(/retryMiddleware/);
  expect(made().middlewareStack.identify().join()).not.toMatch(/logger/i);
});

test('one failed attempt is retried', async () => {
  answers = [exception(500, 'InternalServerError'), 'hang up', fine];
  expect((await call(dynamoClient())).Item).toEqual({ pk: { S: 'found' } });
  expect(recorder.requests).toHaveLength(3);
});

test('three failed attempts are Unavailable', async () => {
  answers = Array.from({ length: 10 }, () => exception(500, 'InternalServerError'));
  await expect(call(dynamoClient())).rejects.toThrow(Unavailable);
  expect(recorder.requests).toHaveLength(3);
});

test.for<[string, Answer | 'hang up']>([
  ['server errors', exception(500, 'InternalServerError')],
  ['throttling', exception(400, 'ProvisionedThroughputExceededException')],
  ['throttling by an account limit', exception(400, 'RequestLimitExceeded')],
  ['status 429', { status: 429, body: {} }],
  ['an invalid response body', { status: 503, body: [] }],
  ['broken connections', 'hang up'],
])('%s: Unavailable, with the cause', async ([, answer]) => {
  answers = [answer];
  const error: unknown = await callOnce().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(Unavailable);
  expect(error).toHaveProperty('message', 'the table is not available now');
  expect(error).toHaveProperty('cause', expect.any(Error));
});

test('a closed port is Unavailable', async () => {
  await expect(callOnce('http://127.0.0.1:1')).rejects.toThrow(Unavailable);
});

test.for(['ValidationException', 'AccessDeniedException', 'ResourceNotFoundException'])(
  '%s is thrown as it is, at once',
  async (name) => {
    answers = [exception(400, name)];
    const error: unknown = await call(dynamoClient()).catch((caught: unknown) => caught);
    expect(error).not.toBeInstanceOf(Unavailable);
    expect(error).toHaveProperty('name', name);
    expect(error instanceof ResourceNotFoundException).toBe(name === 'ResourceNotFoundException');
    expect(recorder.requests).toHaveLength(1);
  },
);

test('a local error is rethrown, and an unknown error is Unavailable', async () => {
  const bug = new TypeError('a bug');
  await expect(callService('the table', () => Promise.reject(bug))).rejects.toBe(bug);
  await expect(callService('the table', () => Promise.reject(new Error('what?')))).rejects.toThrow(Unavailable);
});
