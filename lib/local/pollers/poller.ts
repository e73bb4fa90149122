/** Delivers a queue's messages to a function. Deletes processed messages; failed ones stay until their visibility timeout. */
import { setTimeout as wait } from 'node:timers/promises';
import { awsEnvironment, lastPart } from '../aws-environment.ts';
import type { Mapping } from './mapping.ts';
import type { Message, QueueClient } from './queue-client.ts';
import * as z from 'zod';
import type { Refused } from '../lambda/function.ts';
import type { CallDelay } from '../recorder.ts';
import type { InvokeOutcome } from '../lambda/thread.ts';

/** SQS's maximum wait for a message. */
const longPollSeconds = 20;
/** SQS returns no more at once, with any batch size. */
const maxMessagesPerReceive = 10;

export interface Poller {
  /** Receives no more messages, and waits for the running batches. */
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
  awsRegion: awsEnvironment.region,
});

const traceHeaderOf = ({ Attributes }: Message): string | undefined => Attributes['AWSTraceHeader'];

export interface PollerOptions {
  /** ends the emulator's long polls, so that stopping does not wait for them */
  readonly endLongPolls: () => void;
  readonly warn: (line: string) => void;
  /** How long a message of a throttled invocation stays invisible, in milliseconds. Default: its visibility timeout, as in AWS. */
  readonly throttledVisibilityMs?: number | undefined;
  readonly callDelay?: CallDelay | undefined;
}

const describeErrorOf = (queueUrl: string, error: unknown): string =>
  `${lastPart(queueUrl)}: ${error instanceof Error ? error.message : String(error)}`;

/** Handles the messages of one receive: invokes the function, and deletes what it processed. */
function createBatchHandler(
  { queueUrl, queueArn, maxReceiveCount, target, reportsFailures }: Mapping,
  queue: QueueClient,
  { warn, throttledVisibilityMs, callDelay }: PollerOptions,
): (received: readonly Message[]) => Promise<void> {
  /**
   * Lambda refuses a message of a terminated chain at each receive, until the queue makes it a dead letter. The embedded cloud
   * skips the visibility timeout in between, and drops the message where there is no dead-letter queue.
   */
  async function endRecursion(message: Message, recursionMessage: string): Promise<void> {
    if (maxReceiveCount !== undefined) await queue.makeVisible(queueUrl, message);
    else await queue.delete(queueUrl, [message]);
    const receives = Number(message.Attributes['ApproximateReceiveCount'] ?? 1);
    if (receives < (maxReceiveCount ?? 0)) return;
    const outcomeText =
      maxReceiveCount === undefined ? 'is dropped: the queue has no dead-letter queue' : 'goes to the dead-letter queue';
    warn(`${lastPart(queueUrl)}: message ${message.MessageId} ${outcomeText}. ${recursionMessage}`);
  }

  /** Nothing ran, and the receive count of each message has grown. The messages stay until their visibility timeout ends. */
  async function releaseThrottled(messages: readonly Message[]): Promise<void> {
    if (throttledVisibilityMs === undefined) return;
    await wait(throttledVisibilityMs);
    for (const message of messages) await queue.makeVisible(queueUrl, message);
  }

  return async function handle(received: readonly Message[]): Promise<void> {
    const messages: Message[] = [];
    for (const message of received) {
      const recursionMessage = target.recursionError(traceHeaderOf(message));
      if (recursionMessage === undefined) messages.push(message);
      else await endRecursion(message, recursionMessage);
    }
    if (messages.length === 0) return;
    await callDelay?.('sqs', 'receipt');
    const event = JSON.stringify({ Records: messages.map((message) => record(message, queueArn)) });
    const outcome = await target.invoke(event, { traceHeaders: messages.map(traceHeaderOf) });
    if (outcome.kind === 'refused' && outcome.code === 'TooManyRequestsException') return releaseThrottled(messages);
    const failed = failedMessages(
      outcome,
      messages.map(({ MessageId }) => MessageId),
      reportsFailures,
    );
    await queue.delete(
      queueUrl,
      messages.filter(({ MessageId }) => !failed.has(MessageId)),
    );
  };
}

export function startPoller(mapping: Mapping, queue: QueueClient, options: PollerOptions): Poller {
  const { queueUrl, batchSize, concurrency } = mapping;
  const handle = createBatchHandler(mapping, queue, options);
  const batches = new Set<Promise<void>>();
  let stopped = false;
  let ended = false;
  const warnError = (error: unknown): void => options.warn(describeErrorOf(queueUrl, error));

  async function poll(): Promise<void> {
    while (!stopped) {
      if (batches.size >= concurrency) {
        await Promise.race(batches);
        continue;
      }
      try {
        const messages = await queue.receive(queueUrl, Math.min(batchSize, maxMessagesPerReceive), longPollSeconds);
        if (messages.length === 0) continue;
        const batch = handle(messages)
          .catch(warnError)
          .finally(() => batches.delete(batch));
        batches.add(batch);
      } catch (error) {
        warnError(error);
        await wait(1_000);
      }
    }
  }

  const polling = poll().finally(() => (ended = true));
  return {
    async stop() {
      stopped = true;
      // Repeatedly: a receive that arrives after the first call would start a new long poll.
      while (!ended) {
        options.endLongPolls();
        await Promise.race([polling, wait(20)]);
        if (batches.size > 0) await Promise.race([...batches, wait(20)]);
      }
      await Promise.all(batches);
    },
  };
}

const resultShape = z
  .looseObject({ batchItemFailures: z.array(z.looseObject({ itemIdentifier: z.string().min(1) })).nullish() })
  .nullish();

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/**
 * The ids that failed. No report means success. A report of the wrong shape, or of a message that is not in the batch,
 * fails the whole batch: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function failedMessages(
  outcome: InvokeOutcome | Refused,
  batch: readonly string[],
  reportsFailures: boolean,
): ReadonlySet<string> {
  const everything = new Set(batch);
  if (outcome.kind !== 'returned') return everything;
  if (!reportsFailures) return new Set();
  const parsed = parse(outcome.payload);
  const result = parsed === undefined ? undefined : resultShape.safeParse(parsed.value);
  if (result?.success !== true) return everything;
  const failed = (result.data?.batchItemFailures ?? []).map(({ itemIdentifier }) => itemIdentifier);
  return failed.every((id) => everything.has(id)) ? new Set(failed) : everything;
}
