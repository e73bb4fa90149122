import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { request as open } from 'node:http';
import {
  BatchGetItemCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { CreateScheduleCommand, DeleteScheduleCommand, GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import {
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dynamodb } from '../../lib/local/aws/dynamodb.ts';
import { eventBridge } from '../../lib/local/aws/eventbridge.ts';
import { openGateway } from '../../lib/local/aws/gateway.ts';
import { createPrincipals } from '../../lib/local/aws/principals.ts';
import { s3 } from '../../lib/local/aws/s3.ts';
import { sqs } from '../../lib/local/aws/sqs.ts';
import type { WireRequest } from '../../lib/local/aws/wire.ts';
import { deployQueuesAndBuckets, deployTables } from '../../lib/local/deploy/tables.ts';
import { signedHeaders } from '../signed-request.ts';
import { startEmulators, type Emulators } from '../../lib/local/emulators/emulators.ts';
import { createDynamodbCaller } from '../../lib/local/emulators/forward.ts';
import { readRoles } from '../../lib/local/policy/roles.ts';
import { createRecorder, type RecordedCall } from '../../lib/local/recorder.ts';
import { openScheduleStore } from '../../lib/local/scheduler/schedule-store.ts';
import { scheduler } from '../../lib/local/scheduler/service.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { allow, freshFolder, functionOf, stacksOf } from './stacks.ts';

const att = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const text = (AttributeName: string) => ({ AttributeName, AttributeType: 'S' });
const keys = (hash: string, range: string) => [
  { AttributeName: hash, KeyType: 'HASH' },
  { AttributeName: range, KeyType: 'RANGE' },
];

const table = {
  Type: 'AWS::DynamoDB::Table',
  Properties: {
    AttributeDefinitions: [text('pk'), text('sk'), text('gp')],
    KeySchema: keys('pk', 'sk'),
    GlobalSecondaryIndexes: [
      { IndexName: 'byProject', KeySchema: keys('gp', 'sk'), Projection: { ProjectionType: 'KEYS_ONLY' } },
    ],
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
  },
};

const resources = {
  Runs: table,
  Secret: table,
  Held: table,
  Jobs: { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true, ContentBasedDeduplication: true } },
  Other: { Type: 'AWS::SQS::Queue' },
  Files: { Type: 'AWS::S3::Bucket' },
  Group: { Type: 'AWS::Scheduler::ScheduleGroup', Properties: { Name: 'timers' } },
  Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'bus' } },
  ...functionOf('Fn', 'a', [
    allow(['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'], att('Runs')),
    allow('dynamodb:Query', { 'Fn::Sub': '${Runs.Arn}/index/byProject' }),
    allow(
      ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem', 'dynamodb:Query', 'dynamodb:Scan'],
      att('Held'),
      {
        Condition: {
          'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#held'] },
          Null: { 'dynamodb:LeadingKeys': 'false' },
        },
      },
    ),
    allow(['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:GetQueueUrl'], att('Jobs')),
    allow(['s3:GetObject', 's3:PutObject'], { 'Fn::Sub': '${Files.Arn}/payloads/*' }),
    allow('s3:ListBucket', att('Files')),
    allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule', 'scheduler:GetSchedule'], {
      'Fn::Sub': 'arn:aws:scheduler:*:*:schedule/${Group}/*',
    }),
    allow('iam:PassRole', 'arn:aws:iam::000000000000:role/timer', {
      Condition: { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } },
    }),
    allow('events:PutEvents', att('Bus')),
  ]),
};

const folder = freshFolder();
const warned: string[] = [];
const calls: RecordedCall[] = [];
const delayed: string[] = [];
/** what delayed calls wait for */
let delay: Promise<unknown> = Promise.resolve();
let emulators: Emulators;
let gateway: Awaited<ReturnType<typeof openGateway>>;
let key: { readonly accessKeyId: string; readonly secretAccessKey: string };
const store = openScheduleStore(join(folder, 's.sqlite'));
const buses = eventBridge(new Set(['default', 'bus']));

beforeAll(async () => {
  [emulators, gateway] = await Promise.all([startEmulators(folder, () => {}), openGateway()]);
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
    callDelay: async (service, operation) => {
      delayed.push(`${service} ${operation}`);
      await delay;
    },
    services: [
      dynamodb(emulators.dynamodb.forward),
      sqs(emulators.fauxqs.queues, gateway.url),
      s3(emulators.fauxqs.bucket),
      scheduler(store, new Set(['default', 'timers']), () => {}),
      buses.service,
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await emulators.stop();
  store.close();
});

const settings = () => ({
  endpoint: gateway.url,
  region: 'us-east-1',
  credentials: key,
  maxAttempts: 1,
});
const item = { pk: { S: 'p' }, sk: { S: 's' } };
const nameOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'allowed',
    (error: unknown) => (error instanceof Error ? error.name : String(error)),
  );

describe('the gateway, for DynamoDB', () => {
  test('lets a bench delay a call that is allowed', async () => {
    const client = new DynamoDBClient(settings());
    delayed.length = 0;
    await client.send(new PutItemCommand({ TableName: 'App-Runs', Item: { pk: { S: 'delayed' }, sk: { S: 's' } } }));
    await nameOf(client.send(new PutItemCommand({ TableName: 'Absent', Item: item })));
    expect(delayed).toEqual(['dynamodb PutItem']);
  });

  test('works while a bench delays a call, and sends a message only after the delay', async () => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const key = { pk: { S: 'worked on' }, sk: { S: 's' } };
    const forwarded = createDynamodbCaller(emulators.dynamodb.forward);
    const isStored = async () => {
      const { output } = await forwarded('GetItem', { TableName: 'App-Runs', Key: key, ConsistentRead: true });
      return typeof output === 'object' && output !== null && 'Item' in output;
    };
    const messages = () => emulators.fauxqs.depth('App-Jobs.fifo').ready;
    const QueueUrl = `${gateway.url}/000000000000/App-Jobs.fifo`;
    const answered: string[] = [];
    const before = messages();
    delay = promise;
    const put = new DynamoDBClient(settings())
      .send(new PutItemCommand({ TableName: 'App-Runs', Item: key }))
      .then(() => answered.push('put'));
    const send = new SQSClient(settings())
      .send(new SendMessageCommand({ QueueUrl, MessageBody: 'late', MessageGroupId: 'late', MessageDeduplicationId: 'late' }))
      .then(() => answered.push('send'));
    try {
      await expect.poll(isStored).toBe(true);
      await expect.poll(() => delayed.includes('sqs SendMessage')).toBe(true);
      expect({ answered, messages: messages() }).toEqual({ answered: [], messages: before });
    } finally {
      release();
    }
    await Promise.all([put, send]);
    expect(messages()).toBe(before + 1);
    await new SQSClient(settings()).send(new ReceiveMessageCommand({ QueueUrl }));
  });

  test('allows what the function’s role allows, and returns failed conditions', async () => {
    const client = new DynamoDBClient(settings());
    const put = new PutItemCommand({
      TableName: 'App-Runs',
      Item: item,
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await client.send(put);
    await expect(client.send(put)).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    expect((await client.send(new GetItemCommand({ TableName: 'App-Runs', Key: item, ConsistentRead: true }))).Item).toEqual(
      item,
    );
  });

  test("denies another table with DynamoDB's error, and prints the denial", async () => {
    const client = new DynamoDBClient(settings());
    const denied = client.send(new GetItemCommand({ TableName: 'App-Secret', Key: item }));
    await expect(denied).rejects.toMatchObject({
      name: 'AccessDeniedException',
      message: expect.stringContaining(
        'not authorized to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:us-east-1:000000000000:table/App-Secret',
      ),
    });
    expect(warned.at(-1)).toContain('assumed-role/Fn-role/Fn is not authorized');
  });

  test('checks the index of a query, and every item of a transaction', async () => {
    const client = new DynamoDBClient(settings());
    const query = { KeyConditionExpression: 'gp = :p', ExpressionAttributeValues: { ':p': { S: 'p' } } };
    expect(await nameOf(client.send(new QueryCommand({ ...query, TableName: 'App-Runs', IndexName: 'byProject' })))).toBe(
      'allowed',
    );
    const transaction = (table: string) =>
      client.send(
        new TransactWriteItemsCommand({
          TransactItems: [{ Put: { TableName: 'App-Runs', Item: item } }, { Put: { TableName: table, Item: item } }],
        }),
      );
    expect(await nameOf(transaction('App-Secret'))).toBe('AccessDeniedException');
  });

  test('denies a batch read to a role that may only read single items', async () => {
    const client = new DynamoDBClient(settings());
    const batch = (table: string) => new BatchGetItemCommand({ RequestItems: { [table]: { Keys: [item] } } });
    expect(await nameOf(client.send(batch('App-Runs')))).toBe('AccessDeniedException');
    expect(warned.at(-1)).toContain('dynamodb:BatchGetItem');
  });

  test('checks the partition key where a grant has a condition on it', async () => {
    const client = new DynamoDBClient(settings());
    const TableName = 'App-Held';
    const asked = (pk: string): Promise<readonly string[]> => {
      const Key = { pk: { S: pk }, sk: { S: 's' } };
      const query = { TableName, ExpressionAttributeValues: { ':pk': { S: pk } } };
      return Promise.all(
        [
          client.send(new GetItemCommand({ TableName, Key })),
          client.send(new PutItemCommand({ TableName, Item: Key })),
          client.send(new DeleteItemCommand({ TableName, Key })),
          client.send(new QueryCommand({ ...query, KeyConditionExpression: 'pk = :pk' })),
          client.send(
            new QueryCommand({ ...query, KeyConditionExpression: '#p = :pk', ExpressionAttributeNames: { '#p': 'pk' } }),
          ),
        ].map(nameOf),
      );
    };
    expect(await asked('mine#held')).toEqual(Array.from({ length: 5 }, () => 'allowed'));
    expect(await asked('mine#kept')).toEqual(Array.from({ length: 5 }, () => 'AccessDeniedException'));
    expect(await nameOf(client.send(new ScanCommand({ TableName })))).toBe('AccessDeniedException');
    const together = (...partitions: readonly string[]) =>
      nameOf(
        client.send(
          new BatchGetItemCommand({
            RequestItems: { [TableName]: { Keys: partitions.map((pk) => ({ pk: { S: pk }, sk: { S: 's' } })) } },
          }),
        ),
      );
    expect(await together('mine#held', 'yours#held')).toBe('allowed');
    expect(await together('mine#held', 'mine#kept')).toBe('AccessDeniedException');
  });

  test('verifies the signature of the received request with the key’s secret', async () => {
    const item = { pk: { S: 'a' }, sk: { S: 'b' } };
    const wrong = { ...key, secretAccessKey: `${key.secretAccessKey}x` };
    const client = new DynamoDBClient({ ...settings(), credentials: wrong });
    expect(await nameOf(client.send(new GetItemCommand({ TableName: 'App-Runs', Key: item })))).toBe('SignatureDoesNotMatch');

    const signer = { ...key, url: gateway.url };
    const body = Buffer.from(JSON.stringify({ TableName: 'App-Runs', Key: item }));
    const plain = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'DynamoDB_20120810.GetItem' };
    const headers = signedHeaders(signer, 'dynamodb', { method: 'POST', path: '/', headers: plain, body });
    const status = async (sent: Record<string, string>, bytes = body) =>
      (await fetch(gateway.url, { method: 'POST', headers: sent, body: bytes })).status;
    expect(await status(headers)).toBe(200);
    expect(await status(headers, Buffer.from(body.toString().replace('"b"', '"c"')))).toBe(403);
    expect(await status({ ...headers, 'x-amz-target': 'DynamoDB_20120810.PutItem' })).toBe(403);
    for (const signature of ['', '0', 'g'.repeat(64), '0'.repeat(64)]) {
      const authorization = (headers['authorization'] ?? '').replace(/Signature=.*/, `Signature=${signature}`);
      expect(await status({ ...headers, authorization })).toBe(403);
    }
    const unbound = (headers['authorization'] ?? '').replace(/SignedHeaders=[^,]*/, 'SignedHeaders=x-amz-date');
    expect(await status({ ...headers, authorization: unbound })).toBe(403);
  });

  test('refuses an unknown key', async () => {
    const client = new DynamoDBClient({ ...settings(), credentials: { accessKeyId: 'AKIAWHO', secretAccessKey: 'x' } });
    expect(await nameOf(client.send(new GetItemCommand({ TableName: 'App-Runs', Key: item })))).toBe(
      'UnrecognizedClientException',
    );
  });

  test('records each request with its caller', async () => {
    const client = new DynamoDBClient(settings());
    calls.length = 0;
    await client.send(new GetItemCommand({ TableName: 'App-Runs', Key: item }));
    expect(calls).toMatchObject([
      { caller: 'Fn', service: 'dynamodb', operation: 'GetItem', input: { TableName: 'App-Runs' }, status: 200 },
    ]);
  });
});

describe('the gateway, for SQS', () => {
  test('sends, receives and returns queue URLs with its own host', async () => {
    const client = new SQSClient(settings());
    const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: 'App-Jobs.fifo' }));
    expect(QueueUrl).toBe(`${gateway.url}/000000000000/App-Jobs.fifo`);
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: 'one', MessageGroupId: 'g' }));
    await client.send(new SendMessageBatchCommand({ QueueUrl, Entries: [{ Id: '1', MessageBody: 'two', MessageGroupId: 'g' }] }));
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    expect(Messages?.map(({ Body }) => Body)).toEqual(['one', 'two']);
  });

  test('denies another queue', async () => {
    const QueueUrl = `${gateway.url}/000000000000/App-Other`;
    expect(await nameOf(new SQSClient(settings()).send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' })))).toMatch(
      /^AccessDenied/,
    );
  });
});

describe('the gateway, for S3', () => {
  const at = (Key: string) => ({ Bucket: 'app-files', Key });

  test('denies tags to a role that may only put objects', async () => {
    const client = new S3Client(settings());
    const tagged = new PutObjectCommand({ ...at('payloads/tagged'), Body: 'x', Tagging: 'days=1' });
    expect(await nameOf(client.send(tagged))).toBe('AccessDenied');
    expect(warned.at(-1)).toContain('s3:PutObjectTagging');
  });

  test('stores and reads objects, and writes a conditional object only once', async () => {
    const client = new S3Client(settings());
    const put = () => client.send(new PutObjectCommand({ ...at('payloads/a b/ü.json'), Body: '{"a":1}', IfNoneMatch: '*' }));
    const outcomes = await Promise.all([nameOf(put()), nameOf(put()), nameOf(put())]);
    expect(outcomes.toSorted()).toEqual(['PreconditionFailed', 'PreconditionFailed', 'allowed']);
    const { Body } = await client.send(new GetObjectCommand(at('payloads/a b/ü.json')));
    expect(await Body?.transformToString()).toBe('{"a":1}');
    expect((await client.send(new HeadObjectCommand(at('payloads/a b/ü.json')))).ContentLength).toBe(7);
    expect((await client.send(new ListObjectsV2Command({ Bucket: 'app-files' }))).KeyCount).toBe(1);
  });

  test('denies in XML, as S3 does', async () => {
    const client = new S3Client(settings());
    expect(await nameOf(client.send(new GetObjectCommand(at('secrets/a'))))).toBe('AccessDenied');
    expect(await nameOf(client.send(new GetObjectCommand(at('payloads/none'))))).toBe('NoSuchKey');
  });

  test('accepts a presigned URL until it expires, and no unsigned request', async () => {
    const bucket = new S3Client({ ...settings(), forcePathStyle: true });
    const url = (signedAt: number) =>
      getSignedUrl(bucket, new PutObjectCommand({ Bucket: 'app-files', Key: 'payloads/p' }), {
        expiresIn: 60,
        signingDate: new Date(signedAt),
      });
    const put = async (address: string) => (await fetch(address, { method: 'PUT', body: 'x' })).status;
    expect(await put(await url(Date.now()))).toBe(200);
    expect(await put(await url(Date.UTC(2026, 0, 1)))).toBe(403);
    expect((await fetch(`${gateway.url}/app-files/payloads/p`)).status).toBe(403);
  });
});

describe('the gateway, for the scheduler and the bus', () => {
  const schedule = (Name: string, RoleArn = 'arn:aws:iam::000000000000:role/timer') =>
    new CreateScheduleCommand({
      Name,
      GroupName: 'timers',
      ScheduleExpression: 'at(2099-01-01T00:00:00)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      ActionAfterCompletion: 'DELETE',
      Target: { Arn: 'arn:aws:sqs:us-east-1:000000000000:App-Other', RoleArn, Input: '{}' },
    });

  test('creates a schedule once, returns it, and deletes it', async () => {
    const client = new SchedulerClient(settings());
    await client.send(schedule('wake'));
    expect(await nameOf(client.send(schedule('wake')))).toBe('ConflictException');
    const name = { Name: 'wake', GroupName: 'timers' };
    expect(await client.send(new GetScheduleCommand(name))).toMatchObject({
      ScheduleExpression: 'at(2099-01-01T00:00:00)',
      Name: 'wake',
    });
    await client.send(new DeleteScheduleCommand(name));
    expect(await nameOf(client.send(new GetScheduleCommand(name)))).toBe('ResourceNotFoundException');
  });

  test('requires iam:PassRole for the role that a schedule names', async () => {
    const client = new SchedulerClient(settings());
    expect(await nameOf(client.send(schedule('wake', 'arn:aws:iam::000000000000:role/other')))).toBe('AccessDeniedException');
  });

  test('refuses what Scheduler refuses', async () => {
    const client = new SchedulerClient(settings());
    expect(await nameOf(client.send(schedule('x'.repeat(65))))).toBe('ValidationException');
  });

  test('accepts events for its bus, with a permission check for each', async () => {
    const client = new EventBridgeClient(settings());
    const event = { EventBusName: 'bus', Source: 'stepwell.runs', DetailType: 'Run Status Change' };
    const answer = await client.send(
      new PutEventsCommand({
        Entries: [
          { ...event, Detail: '{"a":1}' },
          { ...event, Detail: 'no' },
        ],
      }),
    );
    expect([answer.FailedEntryCount, answer.Entries?.[1]?.ErrorCode]).toEqual([1, 'MalformedDetail']);
    expect(buses.recent()).toMatchObject([
      { id: answer.Entries?.[0]?.EventId, bus: 'bus', source: 'stepwell.runs', detail: { a: 1 } },
    ]);
    expect(
      await nameOf(client.send(new PutEventsCommand({ Entries: [{ ...event, EventBusName: 'default', Detail: '{}' }] }))),
    ).toBe('AccessDeniedException');
  });
});

describe('PutEvents', () => {
  const event = { EventBusName: 'bus', Source: 'orders', DetailType: 'Order Placed', Detail: '{}' };
  const put = (...Entries: readonly PutEventsRequestEntry[]) =>
    new EventBridgeClient(settings()).send(new PutEventsCommand({ Entries: [...Entries] }));

  test('takes the time and the resources of an entry', async () => {
    const { Entries } = await put({ ...event, Time: new Date('2026-01-02T03:04:05Z'), Resources: ['arn:aws:x', 'arn:aws:y'] });
    expect(buses.recent().at(-1)).toEqual({
      id: Entries?.[0]?.EventId,
      bus: 'bus',
      source: 'orders',
      detailType: 'Order Placed',
      detail: {},
      resources: ['arn:aws:x', 'arn:aws:y'],
      at: new Date('2026-01-02T03:04:05Z'),
    });
  });

  test.each([
    ['without a source', { Source: undefined }, 'InvalidArgument'],
    ['without a type', { DetailType: '' }, 'InvalidArgument'],
    ['without a detail', { Detail: undefined }, 'InvalidArgument'],
    ['with the source of a service of AWS', { Source: 'aws.s3' }, 'NotAuthorizedForSourceException'],
    ['with a type of 129 characters', { DetailType: 'x'.repeat(129) }, 'InvalidArgument'],
    ['with a list as detail', { Detail: '[]' }, 'MalformedDetail'],
    ['with text as detail', { Detail: '"a"' }, 'MalformedDetail'],
    ['with null as detail', { Detail: 'null' }, 'MalformedDetail'],
  ])('refuses an entry %s, and accepts the others', async (_what, more, code) => {
    const before = buses.recent().length;
    const { FailedEntryCount, Entries } = await put(event, { ...event, ...more }, event);
    expect(FailedEntryCount).toBe(1);
    expect(Entries).toEqual([
      { EventId: expect.any(String) },
      { ErrorCode: code, ErrorMessage: expect.any(String) },
      { EventId: expect.any(String) },
    ]);
    expect(buses.recent()).toHaveLength(before + 2);
  });

  test('refuses entries of more than 1 MiB together', async () => {
    const ofSize = (bytes: number) => ({ ...event, Detail: JSON.stringify('').padEnd(bytes) });
    const half = 512 * 1024;
    expect(await nameOf(put(ofSize(half), ofSize(half)))).toBe('ValidationException');
  });
});

test('the gateway refuses requests with a foreign Host header', async () => {
  const statusFor = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const request = { method: 'GET', path: '/schedules/none?groupName=timers', headers: {}, body: Buffer.alloc(0) };
      const headers = signedHeaders({ ...key, url: `http://${host}` }, 'scheduler', request);
      open({ host: '127.0.0.1', port: gateway.port, path: '/schedules/none?groupName=timers', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .once('error', reject)
        .end();
    });
  expect(await statusFor(`127.0.0.1:${gateway.port}`)).toBe(404);
  expect(await statusFor('evil.example')).toBe(403);
});

test('conditional puts of one object run in sequence', async () => {
  const objects = new Set<string>();
  const service = s3(async ({ method, path }) => {
    await new Promise((resolve) => setImmediate(resolve));
    const status = method === 'HEAD' && !objects.has(path) ? 404 : 200;
    if (method === 'PUT') objects.add(path);
    return { status, headers: {}, body: Buffer.alloc(0) };
  });
  const request: WireRequest = {
    method: 'PUT',
    path: '/bucket/key',
    url: '/bucket/key',
    query: new URLSearchParams(),
    headers: { 'if-none-match': '*' },
    body: Buffer.from('x'),
  };
  const put = async () =>
    (await service.handle(request, { name: 'PutObject', input: undefined, requiredPermissions: [] })).status;
  expect(await Promise.all([put(), put(), put()])).toEqual([200, 412, 412]);
});

describe('an upload by a presigned URL', () => {
  const content = Buffer.from('an archive');
  const digest = createHash('sha256').update(content).digest('base64');
  const upload = async (key = 'payloads/upload', { signedAt = Date.now(), expiresIn = 900 } = {}) => {
    const bucket = new S3Client({ ...settings(), forcePathStyle: true });
    const command = new PutObjectCommand({ Bucket: 'app-files', Key: key, ContentLength: 10, ChecksumSHA256: digest });
    return getSignedUrl(bucket, command, {
      expiresIn,
      signingDate: new Date(signedAt),
      unhoistableHeaders: new Set(['x-amz-checksum-sha256']),
      signableHeaders: new Set(['host', 'content-length', 'x-amz-checksum-sha256']),
    });
  };
  const put = async (
    url: string,
    body: Buffer = content,
    headers: Record<string, string> = { 'x-amz-checksum-sha256': digest },
  ) => {
    const answer = await fetch(url, { method: 'PUT', body, headers });
    return [answer.status, /<Code>(\w+)/.exec(await answer.text())?.[1]];
  };

  test('is accepted without any key', async () => {
    expect(await put(await upload())).toEqual([200, undefined]);
    const bucket = new S3Client({ ...settings(), forcePathStyle: true });
    const object = await bucket.send(new GetObjectCommand({ Bucket: 'app-files', Key: 'payloads/upload' }));
    expect(await object.Body?.transformToString()).toBe('an archive');
  });

  /** Sends the request with node:http, because fetch would set or refuse some of these headers. */
  const send = (url: string, headers: Record<string, string>, body = content) =>
    new Promise<readonly [number | undefined, string]>((resolve, reject) => {
      const outgoing = open(url, { method: 'PUT', headers }, (incoming) => {
        let text = '';
        incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
        incoming.on('end', () => resolve([incoming.statusCode, text]));
      });
      outgoing.on('error', reject);
      if (headers['expect'] === undefined) return void outgoing.end(body);
      outgoing.on('continue', () => outgoing.end(body));
      outgoing.flushHeaders();
    });
  const signed = { 'x-amz-checksum-sha256': digest, 'content-length': '10' };

  // curl --upload-file sends no content type, curl --data-binary sends that of a form.
  test.each([
    undefined,
    'application/x-www-form-urlencoded',
    'application/x-amz-json-1.0',
    'application/json',
    'multipart/form-data; boundary=x',
    'multipart/form-data',
    'text/plain',
    'application/gzip',
    'no type',
    ';',
    '',
  ])('is stored unchanged with the content type %j', async (type) => {
    const key = `payloads/typed-${String(type).replaceAll(/\W/g, '-')}`;
    const [status, text] = await send(await upload(key), { ...signed, ...(type === undefined ? {} : { 'content-type': type }) });
    expect([status, text]).toEqual([200, '']);
    const bucket = new S3Client({ ...settings(), forcePathStyle: true });
    const object = await bucket.send(new GetObjectCommand({ Bucket: 'app-files', Key: key }));
    expect(await object.Body?.transformToString()).toBe('an archive');
  });

  test('is stored unchanged where its header wrongly says that it is chunked', async () => {
    const [status] = await send(await upload('payloads/chunks'), { ...signed, 'content-encoding': 'aws-chunked' });
    const bucket = new S3Client({ ...settings(), forcePathStyle: true });
    const object = await bucket.send(new GetObjectCommand({ Bucket: 'app-files', Key: 'payloads/chunks' }));
    expect([status, await object.Body?.transformToString()]).toEqual([200, 'an archive']);
  });

  test('is accepted from a client that sends Expect: 100-continue', async () => {
    expect(await send(await upload('payloads/expecting'), { ...signed, expect: '100-continue' })).toEqual([200, '']);
  });

  test.each([
    ['no body', { ...signed, 'content-length': '0' }, Buffer.alloc(0), [403, 'SignatureDoesNotMatch']],
    ['no length', { 'x-amz-checksum-sha256': digest, 'transfer-encoding': 'chunked' }, content, [403, 'SignatureDoesNotMatch']],
    [
      'other bytes, declared as chunks',
      { ...signed, 'content-encoding': 'aws-chunked' },
      Buffer.from('an archivE'),
      [400, 'BadDigest'],
    ],
  ] as const)('is refused with %s, and never with a 5xx', async (_what, headers, body, refused) => {
    const [status, text] = await send(await upload('payloads/refused'), headers, body);
    expect([status, /<Code>(\w+)/.exec(text)?.[1]]).toEqual(refused);
  });

  test('is refused with other bytes, without its digest, and with another one', async () => {
    const url = await upload('payloads/other');
    expect(await put(url, Buffer.from('an archivE'))).toEqual([400, 'BadDigest']);
    expect(await put(url, content, {})).toEqual([403, 'SignatureDoesNotMatch']);
    expect(await put(url, content, { 'x-amz-checksum-sha256': 'other' })).toEqual([403, 'SignatureDoesNotMatch']);
    const bucket = new S3Client({ ...settings(), forcePathStyle: true });
    const look = bucket.send(new HeadObjectCommand({ Bucket: 'app-files', Key: 'payloads/other' }));
    expect(await nameOf(look)).toBe('NotFound');
  });

  test.each([
    ['that copies another object', { 'x-amz-copy-source': '/app-files/payloads/upload' }],
    ['with any other meaning', { 'x-amz-acl': 'public-read' }],
  ])('is refused with an unsigned header of AWS: one %s', async (_what, unsigned) => {
    await put(await upload());
    const [status, text] = await send(await upload('payloads/unsigned'), { ...signed, ...unsigned });
    expect([status, /<Code>(\w+)/.exec(text)?.[1]]).toEqual([403, 'SignatureDoesNotMatch']);
  });

  test('is refused after its expiry, and without an expiry', async () => {
    const late = await upload('payloads/late', { signedAt: Date.now() - 61_000, expiresIn: 60 });
    expect(await put(late)).toEqual([403, 'AccessDenied']);
    const url = new URL(await upload('payloads/late'));
    for (const [name, value] of [
      ['X-Amz-Expires', ''],
      ['X-Amz-Expires', '604801'],
      ['X-Amz-Expires', '-1'],
      ['X-Amz-Date', 'yesterday'],
    ] as const) {
      const undated = new URL(url);
      undated.searchParams.set(name, value);
      expect(await put(undated.href)).toEqual([400, 'AuthorizationQueryParametersError']);
    }
  });

  test('is valid for its own object and method, and contains no secret', async () => {
    const url = new URL(await upload('payloads/mine'));
    const other = new URL(url);
    other.pathname = '/app-files/payloads/other';
    expect(await put(other.href)).toEqual([403, 'SignatureDoesNotMatch']);
    expect((await fetch(url, { headers: { 'x-amz-checksum-sha256': digest } })).status).toBe(403);
    const longer = new URL(url);
    longer.searchParams.set('X-Amz-Expires', '604800');
    expect(await put(longer.href)).toEqual([403, 'SignatureDoesNotMatch']);
    const id = url.searchParams.get('X-Amz-Credential')?.split('/')[0] ?? '';
    const client = new DynamoDBClient({ ...settings(), credentials: { accessKeyId: id, secretAccessKey: id } });
    expect(await nameOf(client.send(new ScanCommand({ TableName: 'App-Runs' })))).toBe('SignatureDoesNotMatch');
  });

  test('has only the permissions of the function that signed it', async () => {
    expect(await put(await upload('elsewhere/upload'))).toEqual([403, 'AccessDenied']);
  });
});

test.each(['//', 'http://[', '*', 'http://%'])('the URL %j is refused like any other without a signature', async (path) => {
  const before = warned.length;
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const outgoing = open({ host: '127.0.0.1', port: gateway.port, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
  expect([status, warned.slice(before)]).toEqual([403, []]);
});
