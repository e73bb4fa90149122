/** Hands a queue's messages to a function: deletes what it did, and leaves what it did not to become visible again. */
import { setTimeout as wait } from 'node:timers/promises';
import { lastPart, place } from '../place.ts';
import { failedMessages } from './batch-result.ts';
import type { Mapping } from './mapping.ts';
import type { Message, QueueCalls } from './queue-calls.ts';

/** The longest that SQS waits for a message. */
const longPollSeconds = 20;
/** SQS gives no more at once, whatever the batch size. */
const mostPerReceive = 10;

export interface Poller {
  /** Takes no more messages, and waits for the batches in the function's hands. */
  stop(): Promise<void>;
}

/** A message as the record of a Lambda event. */
const record = (message: Message, queueArn: string) => ({
  messageId: message.MessageId,
  receiptHandle: message.ReceiptHandle,
  body: message.Body,
  attributes: message.Attributes,
  messageAttributes: Object.fromEntries(
    Object.entries(message.MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
      name,
      { dataType: DataType, stringValue: StringValue, binaryValue: BinaryValue, stringListValues: [], binaryListValues: [] },
    ]),
  ),
  md5OfBody: message.MD5OfBody,
  eventSource: 'aws:sqs',
  eventSourceARN: queueArn,
  awsRegion: place.region,
});

/** `wakePolls` ends the emulator's long polls, so that stopping need not wait for them. */
export function startPoller(mapping: Mapping, queue: QueueCalls, wakePolls: () => void, warn: (line: string) => void): Poller {
  const { queueUrl, queueArn, target, batchSize, concurrency, reportsFailures } = mapping;
  const batches = new Set<Promise<void>>();
  let stopped = false;
  let ended = false;
  const complain = (error: unknown): void =>
    warn(`${lastPart(queueUrl)}: ${error instanceof Error ? error.message : String(error)}`);

  async function handle(messages: readonly Message[]): Promise<void> {
    const event = JSON.stringify({ Records: messages.map((message) => record(message, queueArn)) });
    const outcome = await target.invoke(event);
    const failed = failedMessages(
      outcome,
      messages.map(({ MessageId }) => MessageId),
      reportsFailures,
    );
    await queue.delete(
      queueUrl,
      messages.filter(({ MessageId }) => !failed.has(MessageId)),
    );
  }

  async function poll(): Promise<void> {
    while (!stopped) {
      if (batches.size >= concurrency) {
        await Promise.race(batches);
        continue;
      }
      try {
        const messages = await queue.receive(queueUrl, Math.min(batchSize, mostPerReceive), longPollSeconds);
        if (messages.length === 0) continue;
        const batch = handle(messages)
          .catch(complain)
          .finally(() => batches.delete(batch));
        batches.add(batch);
      } catch (error) {
        complain(error);
        await wait(1_000);
      }
    }
  }

  const polling = poll().finally(() => (ended = true));
  return {
    async stop() {
      stopped = true;
      // again and again: a receive that is just on its way in begins to wait after the first call
      while (!ended) {
        wakePolls();
        await Promise.race([polling, wait(20)]);
        if (batches.size > 0) await Promise.race([...batches, wait(20)]);
      }
      await Promise.all(batches);
    },
  };
}
