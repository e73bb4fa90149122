/** Requests over a message port have the outcomes of the same requests over HTTP: no check is skipped. */
import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetQueueUrlCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TransportHandler } from '../../lib/aws/transport-handler.ts';
import type { CallRequest, CallTransport } from '../../lib/contract/call-transport.ts';
import { dynamodb } from '../../lib/local/aws/dynamodb.ts';
import { openGateway } from '../../lib/local/aws/gateway.ts';
import { createPrincipals } from '../../lib/local/aws/principals.ts';
import { s3 } from '../../lib/local/aws/s3.ts';
import { sqs } from '../../lib/local/aws/sqs.ts';
import { deployQueuesAndBuckets, deployTables } from '../../lib/local/deploy/tables.ts';
import { startEmulators, type Emulators } from '../../lib/local/emulators/emulators.ts';
import { createDynamodbCaller } from '../../lib/local/emulators/forward.ts';
import { gatewayTransport } from '../../lib/local/lambda/gateway-transport.ts';
import { readRoles } from '../../lib/local/policy/roles.ts';
import { createRecorder, type RecordedCall } from '../../lib/local/recorder.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { signedHeaders } from '../signed-request.ts';
import { allow, freshFolder, functionOf, stacksOf } from './stacks.ts';

const att = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const text = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' });
const table = {
  Type: 'AWS::DynamoDB::Table',
  Properties: {
    AttributeDefinitions: [text('pk'), text('sk')],
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
  },
};
const resources = {
  Runs: table,
  Secret: table,
  Jobs: { Type: 'AWS::SQS::Queue' },
  Other: { Type: 'AWS::SQS::Queue' },
  Files: { Type: 'AWS::S3::Bucket' },
  ...functionOf('Fn', 'a', [
    allow(['dynamodb:GetItem', 'dynamodb:PutItem'], att('Runs'), {
      Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['mine#*'] } },
    }),
    allow(['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:GetQueueUrl'], att('Jobs')),
    allow(['s3:GetObject', 's3:PutObject'], { 'Fn::Sub': '${Files.Arn}/payloads/*' }),
    allow('s3:ListBucket', att('Files')),
  ]),
};

let emulators: Emulators;
let gateway: Awaited<ReturnType<typeof openGateway>>;
let transport: CallTransport;
let key: { readonly accessKeyId: string; readonly secretAccessKey: string };
const warned: string[] = [];
const calls: RecordedCall[] = [];
/** services that never answer */
let isStuck = false;

beforeAll(async () => {
  [emulators, gateway] = await Promise.all([startEmulators(freshFolder(), () => {}), openGateway()]);
  const template = readTemplate(stacksOf({ App: { Resources: resources } }), gateway.url);
  await deployTables(template, createDynamodbCaller(emulators.dynamodb.forward));
  deployQueuesAndBuckets(template, emulators.fauxqs);
  const principals = createPrincipals(readRoles(template));
  key = principals.createPrincipal('Fn', 'arn:aws:iam::000000000000:role/Fn-role');
  const recorder = createRecorder();
  recorder.listen((call) => void calls.push(call));
  gateway.mount({
    principals,
    recorder,
    warn: (line) => void warned.push(line),
    callDelay: () => (isStuck ? new Promise(() => {}) : Promise.resolve()),
    services: [dynamodb(emulators.dynamodb.forward), sqs(emulators.fauxqs.queues, gateway.url), s3(emulators.fauxqs.bucket)],
  });
  transport = gatewayTransport(gateway.openPort());
});
afterAll(async () => {
  await gateway.close();
  await emulators.stop();
});

const settings = (credentials = key) => ({ endpoint: gateway.url, region: 'us-east-1', credentials, maxAttempts: 1 });
const overPort = (timeoutMs = 5_000) => ({ requestHandler: new TransportHandler(transport, timeoutMs) });

/** What a caller sees of an outcome. Ids of requests differ. */
async function outcomeOf(promise: Promise<object>): Promise<unknown> {
  try {
    const { $metadata: _, ...output } = Object(await promise);
    return output;
  } catch (error) {
    return error instanceof Error ? { name: error.name, message: error.message } : error;
  }
}

/** The outcome over the port, which must be that over HTTP. */
async function both(send: (options: object) => Promise<object>): Promise<unknown> {
  const overHttp = await outcomeOf(send({}));
  const outcome = await outcomeOf(send(overPort()));
  expect(outcome).toEqual(overHttp);
  return outcome;
}

const item = { pk: { S: 'mine#1' }, sk: { S: 's' }, text: { S: 'ü€😀' } };
const Key = { pk: item.pk, sk: item.sk };

describe('a request over a message port', () => {
  test('reads and writes what the role allows, and returns failed conditions', async () => {
    const tables = (options: object) => new DynamoDBClient({ ...settings(), ...options });
    expect(await both((options) => tables(options).send(new PutItemCommand({ TableName: 'App-Runs', Item: item })))).toEqual({});
    const read = new GetItemCommand({ TableName: 'App-Runs', Key, ConsistentRead: true });
    expect(await both((options) => tables(options).send(read))).toEqual({ Item: item });
    const ConditionExpression = 'attribute_not_exists(pk)';
    const conditional = new PutItemCommand({ TableName: 'App-Runs', Item: item, ConditionExpression });
    expect(await both((options) => tables(options).send(conditional))).toMatchObject({ name: 'ConditionalCheckFailedException' });
  });

  test('is denied another table, another partition and another operation, with the same message', async () => {
    const denied: ((client: DynamoDBClient) => Promise<object>)[] = [
      (client) => client.send(new GetItemCommand({ TableName: 'App-Secret', Key })),
      (client) => client.send(new GetItemCommand({ TableName: 'App-Runs', Key: { ...Key, pk: { S: 'yours#1' } } })),
      (client) =>
        client.send(
          new QueryCommand({
            TableName: 'App-Runs',
            KeyConditionExpression: 'pk = :pk',
            ExpressionAttributeValues: { ':pk': item.pk },
          }),
        ),
    ];
    for (const send of denied) {
      warned.length = 0;
      const outcome = await both((options) => send(new DynamoDBClient({ ...settings(), ...options })));
      expect(outcome).toMatchObject({ name: 'AccessDeniedException', message: expect.stringContaining('is not authorized') });
      expect(warned).toHaveLength(2);
    }
  });

  test('needs a known key and its secret', async () => {
    const read = new GetItemCommand({ TableName: 'App-Runs', Key });
    const ask = (credentials: typeof key) =>
      both((options) => new DynamoDBClient({ ...settings(credentials), ...options }).send(read));
    expect(await ask({ ...key, secretAccessKey: 'x' })).toMatchObject({ name: 'SignatureDoesNotMatch' });
    expect(await ask({ accessKeyId: 'AKIAWHO', secretAccessKey: 'x' })).toMatchObject({ name: 'UnrecognizedClientException' });
  });

  test('is refused where its body, its operation or its host is not the signed one, or its head is too large', async () => {
    const body = JSON.stringify({ TableName: 'App-Runs', Key });
    const plain = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'DynamoDB_20120810.GetItem' };
    const request = { method: 'POST', path: '/', headers: plain, body: Buffer.from(body) };
    const headers = signedHeaders({ ...key, url: gateway.url }, 'dynamodb', request);
    const status = async (sent: Record<string, string>, sentBody = body): Promise<number> => {
      const call: CallRequest = { method: 'POST', url: '/', headers: Object.entries(sent).flat(), body: sentBody };
      return (await transport.send(call)).status;
    };
    expect(await status(headers)).toBe(200);
    expect(await status(headers, body.replace('mine', 'more'))).toBe(403);
    expect(await status({ ...headers, 'x-amz-target': 'DynamoDB_20120810.PutItem' })).toBe(403);
    expect(await status({ ...headers, host: 'localhost' })).toBe(403);
    expect(await status({ ...headers, host: 'attacker.example' })).toBe(403);
    expect(await status({ ...headers, origin: 'http://127.0.0.1:1' })).toBe(403);
    const { authorization: _, ...unsigned } = headers;
    expect(await status(unsigned)).toBe(403);
    expect(await status({ ...headers, padding: 'x'.repeat(20_000) })).toBe(431);
  });

  test('stores and reads objects as bytes, and reads heads and errors of the bucket', async () => {
    const at = (name: string) => ({ Bucket: 'app-files', Key: name });
    const bytes = Uint8Array.from({ length: 100_000 }, (_one, index) => index % 251);
    const bucket = new S3Client({ ...settings(), ...overPort() });
    await bucket.send(new PutObjectCommand({ ...at('payloads/a b/ü.bin'), Body: bytes }));
    const { Body } = await bucket.send(new GetObjectCommand(at('payloads/a b/ü.bin')));
    expect(await Body?.transformToByteArray()).toEqual(bytes);
    const head = await bucket.send(new HeadObjectCommand(at('payloads/a b/ü.bin')));
    expect(head.ContentLength).toBe(bytes.length);
    const send = (command: GetObjectCommand | DeleteObjectCommand) => (options: object) => {
      const client = new S3Client({ ...settings(), ...options });
      return command instanceof GetObjectCommand ? client.send(command) : client.send(command);
    };
    expect(await both(send(new GetObjectCommand(at('payloads/none'))))).toMatchObject({ name: 'NoSuchKey' });
    expect(await both(send(new GetObjectCommand(at('secrets/a'))))).toMatchObject({ name: 'AccessDenied' });
    expect(await both(send(new DeleteObjectCommand(at('payloads/a b/ü.bin'))))).toMatchObject({ name: 'AccessDenied' });
  });

  test('sends and receives messages, and not those of another queue', async () => {
    const queues = new SQSClient({ ...settings(), ...overPort() });
    const { QueueUrl } = await queues.send(new GetQueueUrlCommand({ QueueName: 'App-Jobs' }));
    await queues.send(new SendMessageCommand({ QueueUrl, MessageBody: 'one' }));
    const { Messages } = await queues.send(new ReceiveMessageCommand({ QueueUrl }));
    expect(Messages?.map(({ Body }) => Body)).toEqual(['one']);
    const other = new SendMessageCommand({ QueueUrl: `${gateway.url}/000000000000/App-Other`, MessageBody: 'x' });
    expect(await both((options) => new SQSClient({ ...settings(), ...options }).send(other))).toMatchObject({
      name: expect.stringMatching(/^AccessDenied/),
    });
  });

  test('is recorded with its caller', async () => {
    calls.length = 0;
    const client = new DynamoDBClient({ ...settings(), ...overPort() });
    await client.send(new GetItemCommand({ TableName: 'App-Runs', Key }));
    expect(calls).toMatchObject([{ caller: 'Fn', service: 'dynamodb', operation: 'GetItem', status: 200 }]);
  });

  test('ends at its time limit, when its caller gives up, and when the gateway closes', async () => {
    const read = new GetItemCommand({ TableName: 'App-Runs', Key });
    const client = (timeoutMs: number) => new DynamoDBClient({ ...settings(), ...overPort(timeoutMs) });
    isStuck = true;
    await expect(client(20).send(read)).rejects.toMatchObject({ name: 'TimeoutError' });
    const abort = new AbortController();
    const aborted = client(5_000).send(read, { abortSignal: abort.signal });
    setTimeout(() => abort.abort(), 20);
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    const pending = client(5_000).send(read);
    setTimeout(() => void gateway.close(), 20);
    await expect(pending).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect(client(5_000).send(read)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
