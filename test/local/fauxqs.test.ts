import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { loadFauxqsClasses } from '../../lib/local/emulators/fauxqs-patch.ts';
import { startFauxqs, type Fauxqs } from '../../lib/local/emulators/fauxqs.ts';
import { freshFolder } from './stacks.ts';

const url = (name: string): string => `http://127.0.0.1/000000000000/${name}`;
const fifo = { FifoQueue: 'true', VisibilityTimeout: '30' };
const perGroup = { ...fifo, DeduplicationScope: 'messageGroup', FifoThroughputLimit: 'perMessageGroupId' };

const running: Fauxqs[] = [];
const start = async (folder = freshFolder()): Promise<Fauxqs> => {
  const fauxqs = await startFauxqs(folder);
  running.push(fauxqs);
  return fauxqs;
};
afterEach(async () => {
  for (const fauxqs of running.splice(0)) await fauxqs.stop();
});

const received = z.object({
  Messages: z
    .array(z.object({ Body: z.string(), ReceiptHandle: z.string(), Attributes: z.record(z.string(), z.string()).optional() }))
    .default([]),
});

const call = async (fauxqs: Fauxqs, operation: string, input: object): Promise<unknown> => {
  const answer = await fauxqs.queues({
    method: 'POST',
    path: '/',
    url: '/',
    query: new URLSearchParams(),
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` },
    body: Buffer.from(JSON.stringify(input)),
  });
  expect(answer.status, answer.body.toString()).toBe(200);
  return JSON.parse(answer.body.toString());
};
const send = (fauxqs: Fauxqs, name: string, body: string, group: string, dedup = body) =>
  call(fauxqs, 'SendMessage', { QueueUrl: url(name), MessageBody: body, MessageGroupId: group, MessageDeduplicationId: dedup });
const receive = async (fauxqs: Fauxqs, name: string, more: object = {}) =>
  received.parse(
    await call(fauxqs, 'ReceiveMessage', {
      QueueUrl: url(name),
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ['All'],
      ...more,
    }),
  ).Messages;
const bodies = (messages: readonly { Body: string }[]): string[] => messages.map(({ Body }) => Body);
const remove = (fauxqs: Fauxqs, name: string, messages: readonly { ReceiptHandle: string }[]) =>
  Promise.all(messages.map(({ ReceiptHandle }) => call(fauxqs, 'DeleteMessage', { QueueUrl: url(name), ReceiptHandle })));
const release = (fauxqs: Fauxqs, name: string, ReceiptHandle = '') =>
  call(fauxqs, 'ChangeMessageVisibility', { QueueUrl: url(name), ReceiptHandle, VisibilityTimeout: 0 });

describe('the queues', { timeout: 20_000 }, () => {
  test('keep a message’s trace header as a system attribute over a restart, apart from the caller’s attributes', async () => {
    const folder = freshFolder();
    const before = await start(folder);
    before.ensureQueue('q', { VisibilityTimeout: '30' });
    const AWSTraceHeader = { DataType: 'String', StringValue: 'Root=1-a-b;Lineage=00000000:1' };
    const own = { hops: { DataType: 'Number', StringValue: '3' } };
    const message = { MessageBody: 'm1', MessageSystemAttributes: { AWSTraceHeader }, MessageAttributes: own };
    await call(before, 'SendMessage', { QueueUrl: url('q'), ...message });
    await call(before, 'SendMessageBatch', { QueueUrl: url('q'), Entries: [{ Id: '1', ...message, MessageBody: 'm2' }] });
    await call(before, 'SendMessage', { QueueUrl: url('q'), MessageBody: 'm3' });
    await running.pop()?.stop();
    const fauxqs = await start(folder);
    const asked = { MessageSystemAttributeNames: ['AWSTraceHeader'], MessageAttributeNames: ['All'], VisibilityTimeout: 0 };
    const get = async (more: object) =>
      Object(await call(fauxqs, 'ReceiveMessage', { QueueUrl: url('q'), MaxNumberOfMessages: 10, ...asked, ...more }));
    const Attributes = { AWSTraceHeader: AWSTraceHeader.StringValue };
    const { Messages } = await get({});
    expect(Messages).toMatchObject([{ Body: 'm1', Attributes }, { Body: 'm2', Attributes }, { Body: 'm3' }]);
    expect(Messages.map((each: object) => Reflect.get(each, 'MessageAttributes'))).toEqual([own, own, undefined]);
    expect(Messages[2]).not.toHaveProperty('Attributes');
    const { Messages: unasked } = await get({ MessageSystemAttributeNames: ['SentTimestamp'], MessageAttributeNames: [] });
    expect(JSON.stringify(unasked)).not.toContain('Lineage');
  });

  test('return ten messages of one group in order, and then none until all ten are deleted', async () => {
    const fauxqs = await start();
    fauxqs.ensureQueue('q.fifo', fifo);
    for (let at = 1; at <= 12; at++) await send(fauxqs, 'q.fifo', `m${at}`, 'g');
    const first = await receive(fauxqs, 'q.fifo');
    expect(bodies(first)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9', 'm10']);
    await remove(fauxqs, 'q.fifo', first.slice(0, 9));
    expect(await receive(fauxqs, 'q.fifo')).toEqual([]);
    await remove(fauxqs, 'q.fifo', first.slice(9));
    expect(bodies(await receive(fauxqs, 'q.fifo'))).toEqual(['m11', 'm12']);
  });

  test('return several groups in one receive and lock each', async () => {
    const fauxqs = await start();
    fauxqs.ensureQueue('q.fifo', fifo);
    for (const [body, group] of [
      ['a1', 'a'],
      ['b1', 'b'],
      ['a2', 'a'],
      ['c1', 'c'],
    ] as const)
      await send(fauxqs, 'q.fifo', body, group);
    expect(bodies(await receive(fauxqs, 'q.fifo', { MaxNumberOfMessages: 3 })).toSorted()).toEqual(['a1', 'a2', 'b1']);
    expect(bodies(await receive(fauxqs, 'q.fifo'))).toEqual(['c1']);
  });

  test('redeliver several messages of a group in order', async () => {
    const fauxqs = await start();
    fauxqs.ensureQueue('q.fifo', fifo);
    for (const body of ['m1', 'm2', 'm3']) await send(fauxqs, 'q.fifo', body, 'g');
    for (const message of await receive(fauxqs, 'q.fifo')) await release(fauxqs, 'q.fifo', message.ReceiptHandle);
    const again = await receive(fauxqs, 'q.fifo');
    expect(bodies(again)).toEqual(['m1', 'm2', 'm3']);
    expect(again[0]?.Attributes?.['ApproximateReceiveCount']).toBe('2');
  });

  test('keep a message whose visibility was set to 0, over a restart too', async () => {
    const folder = freshFolder();
    const before = await start(folder);
    before.ensureQueue('q', { VisibilityTimeout: '30' });
    await call(before, 'SendMessage', { QueueUrl: url('q'), MessageBody: 'm' });
    const [message] = await receive(before, 'q');
    await release(before, 'q', message?.ReceiptHandle);
    expect(before.depth('q')).toEqual({ ready: 1, delayed: 0, inFlight: 0 });
    await running.pop()?.stop();
    const after = await start(folder);
    expect(after.depth('q')).toEqual({ ready: 1, delayed: 0, inFlight: 0 });
  });

  test('deduplicate per group where the queue is configured so, and return the id that was sent', async () => {
    const fauxqs = await start();
    fauxqs.ensureQueue('q.fifo', perGroup);
    await send(fauxqs, 'q.fifo', 'a', 'run-a', 'node#1');
    await send(fauxqs, 'q.fifo', 'a again', 'run-a', 'node#1');
    await send(fauxqs, 'q.fifo', 'b', 'run-b', 'node#1');
    const messages = await receive(fauxqs, 'q.fifo');
    expect(bodies(messages)).toEqual(['a', 'b']);
    expect(messages.map(({ Attributes }) => Attributes?.['MessageDeduplicationId'])).toEqual(['node#1', 'node#1']);
  });

  test('deduplicate over the whole queue otherwise', async () => {
    const fauxqs = await start();
    fauxqs.ensureQueue('q.fifo', fifo);
    await send(fauxqs, 'q.fifo', 'a', 'run-a', 'same');
    await send(fauxqs, 'q.fifo', 'b', 'run-b', 'same');
    expect(bodies(await receive(fauxqs, 'q.fifo'))).toEqual(['a']);
  });

  test('keep their messages when they are deployed again, with new attributes', async () => {
    const folder = freshFolder();
    const before = await start(folder);
    before.ensureQueue('q', { VisibilityTimeout: '30' });
    await call(before, 'SendMessage', { QueueUrl: url('q'), MessageBody: 'm' });
    await running.pop()?.stop();
    const after = await start(folder);
    after.ensureQueue('q', { VisibilityTimeout: '60' });
    expect(after.depth('q').ready).toBe(1);
    expect(await call(after, 'GetQueueAttributes', { QueueUrl: url('q'), AttributeNames: ['VisibilityTimeout'] })).toEqual({
      Attributes: { VisibilityTimeout: '60' },
    });
  });

  test('move a message that was received too often to the dead-letter queue, and keep the order of the others', async () => {
    const fauxqs = await start();
    fauxqs.ensureQueue('dead.fifo', fifo);
    const deadLetterTargetArn = 'arn:aws:sqs:us-east-1:000000000000:dead.fifo';
    fauxqs.ensureQueue('q.fifo', { ...fifo, RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 }) });
    for (const body of ['bad', 'good']) await send(fauxqs, 'q.fifo', body, 'g');
    const [bad] = await receive(fauxqs, 'q.fifo', { MaxNumberOfMessages: 1 });
    await release(fauxqs, 'q.fifo', bad?.ReceiptHandle);
    expect(bodies(await receive(fauxqs, 'q.fifo'))).toEqual(['good']);
    const [letter] = await receive(fauxqs, 'dead.fifo', { MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'] });
    expect(letter).toMatchObject({
      Body: 'bad',
      Attributes: { DeadLetterQueueSourceArn: 'arn:aws:sqs:us-east-1:000000000000:q.fifo' },
    });
    expect(letter).not.toHaveProperty('MessageAttributes');
  });

  test('make messages visible after a start that were in flight before it', async () => {
    const folder = freshFolder();
    const before = await start(folder);
    before.ensureQueue('q.fifo', fifo);
    for (const body of ['m1', 'm2']) await send(before, 'q.fifo', body, 'g');
    await receive(before, 'q.fifo');
    await running.pop()?.stop();
    const after = await start(folder);
    expect(await receive(after, 'q.fifo')).toEqual([]);
    after.releaseInFlight();
    expect(bodies(await receive(after, 'q.fifo'))).toEqual(['m1', 'm2']);
  });

  describe('while a receive waits', () => {
    const waitFor = (fauxqs: Fauxqs) => receive(fauxqs, 'q', { WaitTimeSeconds: 20 });
    const sendTo = (fauxqs: Fauxqs, more: object = {}) =>
      call(fauxqs, 'SendMessage', { QueueUrl: url('q'), MessageBody: 'm', ...more });
    const queueWith = async (attributes: Readonly<Record<string, string>> = {}): Promise<Fauxqs> => {
      const fauxqs = await start();
      fauxqs.ensureQueue('q', { VisibilityTimeout: '30', ...attributes });
      return fauxqs;
    };

    test('are not checked again and again', async () => {
      const { SqsQueue } = await loadFauxqsClasses();
      const fauxqs = await queueWith();
      const waiting = waitFor(fauxqs);
      const checks = vi.spyOn(SqsQueue.prototype, 'processTimers');
      await wait(200);
      // One at most, if the receive arrives after the spy. A check every 20 ms would be ten.
      expect(checks.mock.calls.length).toBeLessThanOrEqual(1);
      checks.mockRestore();
      await sendTo(fauxqs);
      expect(bodies(await waiting)).toEqual(['m']);
    });

    test('deliver a message when its delay ends', async () => {
      const fauxqs = await queueWith();
      const waiting = waitFor(fauxqs);
      const startedAt = performance.now();
      await sendTo(fauxqs, { DelaySeconds: 3 });
      await sendTo(fauxqs, { DelaySeconds: 1 });
      expect(await waiting).toHaveLength(1);
      expect(performance.now() - startedAt).toBeLessThan(2_500);
    });

    test('deliver a message again when its visibility timeout ends', async () => {
      const fauxqs = await queueWith({ VisibilityTimeout: '1' });
      await sendTo(fauxqs);
      await receive(fauxqs, 'q');
      expect(await waitFor(fauxqs)).toHaveLength(1);
    });

    test('deliver a message at the end of a visibility timeout that was shortened', async () => {
      const fauxqs = await queueWith();
      await sendTo(fauxqs);
      const [message] = await receive(fauxqs, 'q');
      const waiting = waitFor(fauxqs);
      const { ReceiptHandle } = message ?? {};
      await call(fauxqs, 'ChangeMessageVisibility', { QueueUrl: url('q'), ReceiptHandle, VisibilityTimeout: 1 });
      expect(await waiting).toHaveLength(1);
    });

    test('deliver what an advance of the clock makes visible', async () => {
      const fauxqs = await queueWith();
      await sendTo(fauxqs, { DelaySeconds: 600 });
      const waiting = waitFor(fauxqs);
      const now = Date.now.bind(Date);
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 700_000);
      fauxqs.onClockAdvance();
      expect(await waiting).toHaveLength(1);
      clock.mockRestore();
    });
  });
});
