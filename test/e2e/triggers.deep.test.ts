/** Triggers in the embedded cloud: messages of queues, events of rules and objects of buckets start runs, with the permissions of the template. */
import { randomUUID } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { ReceiveMessageCommand, SQSClient, SendMessageBatchCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { originalIdAttribute, reasonAttribute } from '../../lib/codec/trigger-messages.ts';
import { awsEnvironment } from '../../lib/local/aws-environment.ts';
import { chain } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const triggers = {
  orders: { on: { queue: {} }, workflowName: 'ship', input: { order: '{{ctx.body.order}}' } },
  lines: { on: { queue: { fifo: true } }, workflowName: 'ship' },
  placed: {
    on: { event: { pattern: { source: ['shop'], detail: { total: [{ numeric: ['>', 10] }] } } } },
    workflowName: 'ship',
    input: { order: '{{ctx.event.detail.order}}' },
  },
  shipped: {
    on: { event: { bus: 'stepwell', pattern: { detail: { status: ['completed'], workflow: { name: ['ship'] } } } } },
    workflowName: 'notify',
    input: '{{ctx.event.detail}}',
    idempotencyKey: '{{ctx.event.detail.runId}}',
  },
  uploads: {
    on: { bucket: { name: 'my-uploads', prefix: 'in/' } },
    workflowName: 'ship',
    input: { order: '{{ctx.object.key}}' },
  },
};

/** A bucket of the owner that reports its objects to EventBridge. */
const uploads = {
  Type: 'AWS::S3::Bucket',
  Properties: {
    BucketName: 'my-uploads',
    NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } },
  },
};

async function withBucket(assembly: string): Promise<string> {
  const copy = `${assembly}-with-bucket`;
  await cp(assembly, copy, { recursive: true });
  const path = join(copy, 'Stepwell-Runtime.template.json');
  const template = z
    .looseObject({ Resources: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(await readFile(path, 'utf8')));
  await writeFile(path, JSON.stringify({ ...template, Resources: { ...template.Resources, Uploads: uploads } }));
  return copy;
}

let cloud: InProcessCloud;
let sqs: SQSClient;
let s3: S3Client;
let bus: EventBridgeClient;
beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:triggers': JSON.stringify(triggers) }, withBucket);
  const { url: endpoint, accessKeyId, secretAccessKey } = cloud.cloud.tables;
  const access = { endpoint, region: awsEnvironment.region, credentials: { accessKeyId, secretAccessKey } };
  sqs = new SQSClient(access);
  bus = new EventBridgeClient(access);
  s3 = new S3Client({ ...access, forcePathStyle: true });
  const script = { id: 'a', type: 'javascript', config: { code: 'return ctx.input.order', outputVariable: 'a' } };
  const ship = {
    ...chain('ship', [script, { ...script, id: 'b', config: { code: 'return 1', outputVariable: 'b' } }]),
    options: { args: [{ name: 'order', type: 'string', required: true }] },
  };
  for (const workflow of [
    ship,
    chain('notify', [{ ...script, config: { code: 'return ctx.input.runId', outputVariable: 'a' } }]),
  ]) {
    const published = await cloud.call('POST', '/v1/workflows', workflow);
    expect(published.status, JSON.stringify(published.body)).toBe(201);
  }
});
afterAll(async () => {
  sqs.destroy();
  bus.destroy();
  s3.destroy();
  await cloud.stop();
});

/** The queue of a trigger, or its dead-letter queue. */
const queueUrl = (trigger: string, of: 'Queue' | 'DeadLetters' = 'Queue'): string => {
  const found = cloud.cloud.template
    .of('AWS::SQS::Queue')
    .find(({ logicalId }) => logicalId.startsWith(`StepwellTriggers${trigger}${of}`));
  if (found === undefined) throw new Error(`there is no ${of} of ${trigger}`);
  return found.ref;
};

const runShape = z.looseObject({
  runId: z.string(),
  status: z.string(),
  startedBy: z.object({ trigger: z.string(), messageId: z.string().optional() }).optional(),
});

const runsOf = async (workflow: string, trigger: string) => {
  const { body } = await cloud.call('GET', `/v1/runs?workflowName=${workflow}&limit=100`);
  const { data } = z.object({ data: z.array(runShape) }).parse(body);
  return data.filter(({ startedBy }) => startedBy?.trigger === trigger);
};

const letters = async (trigger: string) => {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl(trigger, 'DeadLetters'),
      MaxNumberOfMessages: 10,
      VisibilityTimeout: 0,
      MessageAttributeNames: ['All'],
    }),
  );
  return Messages.map(({ Body, MessageAttributes }) => ({
    body: Body,
    reason: MessageAttributes?.[reasonAttribute]?.StringValue,
    id: MessageAttributes?.[originalIdAttribute]?.StringValue,
  }));
};

test('each message of a queue starts a run, which completes and names the trigger', async () => {
  const Entries = Array.from({ length: 10 }, (_, index) => ({
    Id: `${index}`,
    MessageBody: JSON.stringify({ order: `o${index}` }),
  }));
  const { Successful = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queueUrl('orders'), Entries }));
  await expect
    .poll(async () => (await runsOf('ship', 'orders')).filter(({ status }) => status === 'completed').length, { timeout: 50_000 })
    .toBe(10);
  const ids = (await runsOf('ship', 'orders')).map(({ startedBy }) => startedBy?.messageId);
  expect(new Set(ids)).toEqual(new Set(Successful.map(({ MessageId }) => MessageId)));
});

test('a message that can start nothing is in the dead-letter queue with the reason, and starts once when it is sent again', async () => {
  const body = '{"order":{"id":17}}';
  const { MessageId } = await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl('orders'), MessageBody: body }));
  await expect
    .poll(() => letters('orders'), { timeout: 20_000 })
    .toEqual([{ body, reason: expect.stringMatching(/^input_invalid: \/input\/order/), id: MessageId }]);
  const corrected = {
    QueueUrl: queueUrl('orders'),
    MessageBody: '{"order":"17"}',
    MessageAttributes: { [originalIdAttribute]: { DataType: 'String', StringValue: MessageId } },
  };
  for (let time = 0; time < 2; time += 1) await sqs.send(new SendMessageCommand(corrected));
  const ofMessage = async () => (await runsOf('ship', 'orders')).filter(({ startedBy }) => startedBy?.messageId === MessageId);
  await expect.poll(async () => (await ofMessage()).map(({ status }) => status), { timeout: 20_000 }).toEqual(['completed']);
});

test('messages of a FIFO queue start runs, and the repeated one of a deduplication id does not', async () => {
  for (const order of ['a', 'a', 'b'])
    await sqs.send(
      new SendMessageCommand({
        QueueUrl: queueUrl('lines'),
        MessageBody: JSON.stringify({ order }),
        MessageGroupId: 'g',
        MessageDeduplicationId: order,
      }),
    );
  await expect.poll(async () => (await runsOf('ship', 'lines')).length, { timeout: 20_000 }).toBe(2);
});

test('an event that a rule matches starts a run with the id of the event', async () => {
  const event = (order: string, total: number) => ({
    Source: 'shop',
    DetailType: 'Order Placed',
    Detail: JSON.stringify({ order, total }),
  });
  const { Entries = [] } = await bus.send(new PutEventsCommand({ Entries: [event('large', 20), event('small', 5)] }));
  await expect
    .poll(async () => (await runsOf('ship', 'placed')).map(({ startedBy }) => startedBy?.messageId), { timeout: 20_000 })
    .toEqual([Entries[0]?.EventId]);
});

test('the end of a run starts the next workflow, once for each run', async () => {
  const started = await cloud.call(
    'POST',
    '/v1/runs',
    { workflowName: 'ship', input: { order: 'x' } },
    { 'idempotency-key': randomUUID() },
  );
  const { runId } = z.looseObject({ runId: z.string() }).parse(started.body);
  await expect
    .poll(async () => (await runsOf('notify', 'shipped')).filter(({ startedBy }) => startedBy?.messageId === runId).length, {
      timeout: 20_000,
    })
    .toBe(1);
});

test('an object with the prefix starts a run, each time that it is written', async () => {
  for (const Key of ['in/a b.csv', 'out/c.csv', 'in/a b.csv'])
    await s3.send(new PutObjectCommand({ Bucket: 'my-uploads', Key, Body: 'text' }));
  await expect.poll(async () => (await runsOf('ship', 'uploads')).length, { timeout: 20_000 }).toBe(2);
  const [first] = await runsOf('ship', 'uploads');
  const { body } = await cloud.call('GET', `/v1/runs/${first?.runId}`);
  expect(body).toMatchObject({ input: { order: 'in/a b.csv' } });
});
