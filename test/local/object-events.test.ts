/** Events of S3 in the embedded cloud, from requests of the SDK to the messages in a queue. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { startCloud, type Cloud, type CloudSettings } from '../../lib/local/cloud.ts';
import { createObjectEvents, readNotifyingBuckets } from '../../lib/local/events/object-events.ts';
import { assemblyOf, freshFolder, templateOf } from './stacks.ts';

const att = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const bucket = (BucketName: string, NotificationConfiguration?: object) => ({
  Type: 'AWS::S3::Bucket',
  Properties: { BucketName, NotificationConfiguration },
});
const toEventBridge = { EventBridgeConfiguration: { EventBridgeEnabled: true } };

const Resources = {
  Files: bucket('files', toEventBridge),
  Silent: bucket('silent'),
  Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'objects' } },
  Policy: {
    Type: 'AWS::SQS::QueuePolicy',
    Properties: {
      Queues: [{ Ref: 'Queue' }],
      PolicyDocument: {
        Statement: {
          Effect: 'Allow',
          Action: 'sqs:SendMessage',
          Principal: { Service: 'events.amazonaws.com' },
          Resource: att('Queue'),
          Condition: { ArnEquals: { 'aws:SourceArn': att('Rule') } },
        },
      },
    },
  },
  Rule: {
    Type: 'AWS::Events::Rule',
    Properties: {
      EventPattern: {
        source: ['aws.s3'],
        'detail-type': ['Object Created'],
        detail: { bucket: { name: ['files', 'silent'] }, object: { key: [{ prefix: 'in/' }] } },
      },
      Targets: [{ Arn: att('Queue'), Id: 'Target0' }],
    },
  },
};

const receivedShape = z.object({ Messages: z.array(z.object({ Body: z.string(), ReceiptHandle: z.string() })).default([]) });
const detailShape = z.looseObject({
  reason: z.string(),
  object: z.looseObject({ key: z.string(), size: z.number().optional(), etag: z.string().optional(), sequencer: z.string() }),
});
const eventShape = z.looseObject({ id: z.string(), detail: detailShape });

let cloud: Cloud;
let client: S3Client;
const warned: string[] = [];

beforeAll(async () => {
  ({ cloud, client } = await startWithClient());
}, 60_000);
afterAll(async () => {
  client.destroy();
  await cloud.stop();
});

async function startWithClient(more: Pick<CloudSettings, 'deliversEventsTwice'> = {}) {
  const started = await startCloud({
    directory: freshFolder(),
    port: 0,
    threads: 1,
    assembly: Promise.resolve(assemblyOf({ App: { Resources } }, {})),
    warn: (line) => void warned.push(line),
    onEmulatorExit: (why) => void warned.push(why),
    ...more,
  });
  const { url, accessKeyId, secretAccessKey } = started.tables;
  const credentials = { accessKeyId, secretAccessKey };
  return { cloud: started, client: new S3Client({ endpoint: url, region: 'us-east-1', credentials }) };
}

async function callQueue({ emulators }: Cloud, operation: string, input: object): Promise<unknown> {
  const response = await emulators.fauxqs.queues({
    method: 'POST',
    path: '/',
    url: '/',
    query: new URLSearchParams(),
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` },
    body: Buffer.from(JSON.stringify(input)),
  });
  return JSON.parse(response.body.toString());
}

/** The events in the queue, which are removed. The response to a write follows its event, so nothing waits here. */
async function events(of = cloud): Promise<readonly z.infer<typeof eventShape>[]> {
  const QueueUrl = of.template.of('AWS::SQS::Queue')[0]?.ref;
  const { Messages } = receivedShape.parse(await callQueue(of, 'ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 }));
  for (const { ReceiptHandle } of Messages) await callQueue(of, 'DeleteMessage', { QueueUrl, ReceiptHandle });
  return Messages.map(({ Body }) => eventShape.parse(JSON.parse(Body)));
}

const put = (Bucket: string, Key: string, Body: string, by = client) => by.send(new PutObjectCommand({ Bucket, Key, Body }));

describe('S3 sends an event to the default bus', { timeout: 20_000 }, () => {
  test('for PutObject, with the key as it is', async () => {
    const { ETag } = await put('files', 'in/a b+ü/ö%20.csv', 'hello');
    expect(await events()).toEqual([
      {
        version: '0',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        'detail-type': 'Object Created',
        source: 'aws.s3',
        account: '000000000000',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        region: 'us-east-1',
        resources: ['arn:aws:s3:::files'],
        detail: {
          version: '0',
          bucket: { name: 'files' },
          object: {
            key: 'in/a b+ü/ö%20.csv',
            size: 5,
            etag: ETag?.replaceAll('"', ''),
            sequencer: expect.stringMatching(/^[0-9A-F]{18}$/),
          },
          'request-id': expect.stringMatching(/^[0-9A-F]{16}$/),
          requester: '000000000000',
          'source-ip-address': '127.0.0.1',
          reason: 'PutObject',
        },
      },
    ]);
  });

  test('for CopyObject, with the size and the etag of the copy', async () => {
    const { ETag } = await put('silent', 'source', 'copied bytes');
    await client.send(new CopyObjectCommand({ Bucket: 'files', Key: 'in/copy', CopySource: 'silent/source' }));
    expect((await events()).map(({ detail }) => detail)).toMatchObject([
      { reason: 'CopyObject', object: { key: 'in/copy', size: 12, etag: ETag?.replaceAll('"', '') } },
    ]);
  });

  test('for CompleteMultipartUpload, and none for its parts', async () => {
    const object = { Bucket: 'files', Key: 'in/parts' };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(object));
    const { ETag } = await client.send(new UploadPartCommand({ ...object, UploadId, PartNumber: 1, Body: 'part' }));
    expect(await events()).toEqual([]);
    const done = await client.send(
      new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }),
    );
    expect((await events()).map(({ detail }) => detail)).toMatchObject([
      { reason: 'CompleteMultipartUpload', object: { key: 'in/parts', size: 4, etag: done.ETag?.replaceAll('"', '') } },
    ]);
  });

  test('for DeleteObject, of the type Object Deleted', async () => {
    await client.send(new DeleteObjectCommand({ Bucket: 'files', Key: 'in/copy' }));
    expect(await events()).toEqual([]);
    expect(cloud.busEvents().at(-1)).toMatchObject({
      bus: 'default',
      source: 'aws.s3',
      detailType: 'Object Deleted',
      detail: { object: { key: 'in/copy' }, reason: 'DeleteObject', 'deletion-type': 'Permanently Deleted' },
    });
  });

  test('which has the id of the event on the bus', async () => {
    await put('files', 'in/id', '');
    expect((await events()).map(({ id }) => id)).toEqual([cloud.busEvents().at(-1)?.id]);
  });

  test('twice with the switch, with one id', async () => {
    const twice = await startWithClient({ deliversEventsTwice: true });
    try {
      await put('files', 'in/twice', '', twice.client);
      const ids = (await events(twice.cloud)).map(({ id }) => id);
      const [event] = twice.cloud.busEvents();
      expect(ids).toEqual([event?.id, event?.id]);
    } finally {
      twice.client.destroy();
      await twice.cloud.stop();
    }
  });

  test('with sequencers that grow', async () => {
    for (const body of ['1', '2', '3']) await put('files', 'in/same', body);
    const sequencers = (await events()).map(({ detail }) => detail.object.sequencer);
    expect(sequencers).toHaveLength(3);
    expect(sequencers.toSorted()).toEqual(sequencers);
    expect(new Set(sequencers).size).toBe(3);
  });
});

describe('S3 sends no event', { timeout: 20_000 }, () => {
  const countDuring = async (action: () => Promise<unknown>): Promise<number> => {
    const before = cloud.busEvents().length;
    await action();
    return cloud.busEvents().length - before;
  };

  test('for a bucket without notifications', async () => {
    expect(await countDuring(() => put('silent', 'in/a', 'x'))).toBe(0);
  });

  test('for a read, a refused put or an aborted upload', async () => {
    await put('files', 'other', 'x');
    const object = { Bucket: 'files', Key: 'other' };
    expect(
      await countDuring(async () => {
        await client.send(new GetObjectCommand(object));
        await client.send(new PutObjectCommand({ ...object, Body: 'y', IfNoneMatch: '*' })).catch(() => undefined);
        const { UploadId } = await client.send(new CreateMultipartUploadCommand(object));
        await client.send(new AbortMultipartUploadCommand({ ...object, UploadId }));
      }),
    ).toBe(0);
  });

  test('to the queue of a rule with another prefix', async () => {
    expect(await countDuring(() => put('files', 'out/a', 'x'))).toBe(1);
    expect(await events()).toEqual([]);
  });
});

test.each([
  ['enabled', toEventBridge, ['files']],
  ['enabled as text', { EventBridgeConfiguration: { EventBridgeEnabled: 'true' } }, ['files']],
  ['enabled by default', { EventBridgeConfiguration: {} }, ['files']],
  ['disabled', { EventBridgeConfiguration: { EventBridgeEnabled: false } }, []],
  ['absent', {}, []],
])('notifications are %s', (_what, configuration, buckets) => {
  expect([...readNotifyingBuckets(templateOf({ Files: bucket('files', configuration) }))]).toEqual(buckets);
});

describe('the CDK’s custom resource for notifications', () => {
  const notifications = (BucketName: unknown, NotificationConfiguration: object) => ({
    Writer: { Type: 'AWS::Lambda::Function', Properties: { Code: { ZipFile: 'import boto3' }, Runtime: 'python3.13' } },
    Notifications: {
      Type: 'Custom::S3BucketNotifications',
      Properties: { ServiceToken: att('Writer'), BucketName, NotificationConfiguration },
    },
  });
  const read = (BucketName: unknown, configuration: object = { EventBridgeConfiguration: {} }) =>
    templateOf({ Files: bucket('files'), ...notifications(BucketName, configuration) });

  test('sends the events of its bucket, without its function', () => {
    const template = read({ Ref: 'Files' });
    expect([...readNotifyingBuckets(template)]).toEqual(['files']);
    expect(template.of('AWS::Lambda::Function')).toEqual([]);
  });

  test('does not start for a bucket in no stack', () => {
    expect(() => readNotifyingBuckets(read('orders'))).toThrow(
      'the bucket orders is in no stack of the embedded cloud, and App/Notifications refers to it',
    );
  });

  test('does not start with another target', () => {
    const toFunction = { LambdaFunctionConfigurations: [{ Events: ['s3:ObjectCreated:*'] }] };
    expect(() => readNotifyingBuckets(read({ Ref: 'Files' }, toFunction))).toThrow('and no others');
  });
});

test('notifications to another target do not start', () => {
  expect(() => readNotifyingBuckets(templateOf({ Files: bucket('files', { QueueConfigurations: [] }) }))).toThrow(
    'Files: the embedded cloud implements notifications to EventBridge and no others',
  );
});

test('sequencers grow while the clock goes back', async () => {
  const sent: string[] = [];
  const clock = [5, 3, 5, 6];
  const { send } = createObjectEvents(
    new Set(),
    async ({ detail }) => void sent.push(detailShape.parse(detail).object.sequencer),
    () => clock.shift() ?? 0,
  );
  for (const key of ['a', 'a', 'a', 'a']) await send({ bucket: 'b', key, reason: 'PutObject' });
  expect(sent.toSorted()).toEqual(sent);
  expect(new Set(sent).size).toBe(4);
});
