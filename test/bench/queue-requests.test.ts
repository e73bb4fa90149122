import { expect, test } from 'vitest';
import { readQueueCall } from '../../bench/queue-requests.ts';

const QueueUrl = 'http://127.0.0.1:1/000000000000/jobs.fifo';
const body = (bytes: number) => ({ MessageBody: 'x'.repeat(bytes) });
const batch = (...sizes: readonly number[]) => readQueueCall('SendMessageBatch', { QueueUrl, Entries: sizes.map(body) }, {});

test.each([
  ['one message is one request', () => readQueueCall('SendMessage', { QueueUrl, ...body(10) }, {}), 1],
  ['ten messages in a batch are one request', () => batch(...Array.from({ length: 10 }, () => 100)), 1],
  ['64 KB are one request', () => batch(32_768, 32_768), 1],
  ['a byte more is two', () => batch(32_768, 32_769), 2],
  [
    'deleting many at once is one request',
    () => readQueueCall('DeleteMessageBatch', { QueueUrl, Entries: [{ ReceiptHandle: 'a' }, { ReceiptHandle: 'b' }] }, {}),
    1,
  ],
  [
    'receiving is billed by the received bytes',
    () => readQueueCall('ReceiveMessage', { QueueUrl }, { Messages: [{ Body: 'x'.repeat(70_000), ReceiptHandle: 'h' }] }),
    2,
  ],
])('%s', (_name, call, requests) => {
  expect(call()).toMatchObject({ queue: 'jobs.fifo', requests, isEmpty: false });
});

test('a receive without a message is a request, marked as empty', () => {
  expect(readQueueCall('ReceiveMessage', { QueueUrl }, {})).toMatchObject({ requests: 1, isEmpty: true });
});

test('an operation without a price is refused', () => {
  expect(() => readQueueCall('PurgeQueue', { QueueUrl }, {})).toThrow(/PurgeQueue/);
});
