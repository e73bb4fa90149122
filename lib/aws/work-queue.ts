/** A work queue on SQS. */
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { hopsAttribute, parseHops } from '../codec/jobs.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import type { ReceivedMessage, ReceiveOptions, WorkQueue } from '../ports/work-queue.ts';
import { callService } from './call-service.ts';

const what = 'the work queue';

/** Errors of a receipt whose message was deleted or whose visibility timeout ended. */
const receiptExpiredNames = new Set([
  'MessageNotInflight',
  'ReceiptHandleIsInvalid',
  'InvalidParameterValue',
  'InvalidParameterValueException',
]);

const queueAttributes = z.object({ VisibilityTimeout: z.coerce.number().int() });
const received = z.object({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  Body: z.string(),
  MessageAttributes: z.record(z.string(), z.looseObject({ StringValue: z.string().optional() })).default({}),
  Attributes: z.object({ MessageGroupId: z.string().optional(), ApproximateReceiveCount: z.coerce.number().int().default(1) }),
});

export class SqsWorkQueue implements WorkQueue {
  readonly #client: SQSClient;
  readonly #longPollClient: SQSClient;
  readonly #url: string;

  /** @param longPollClient has a time limit above the maximum wait of a receive request */
  constructor({ client, longPollClient }: { readonly client: SQSClient; readonly longPollClient: SQSClient }, url: string) {
    this.#client = client;
    this.#longPollClient = longPollClient;
    this.#url = url;
  }

  async defaultVisibilityTimeout(): Promise<DurationMs> {
    const command = new GetQueueAttributesCommand({ QueueUrl: this.#url, AttributeNames: ['VisibilityTimeout'] });
    const { Attributes } = await callService(what, () => this.#client.send(command));
    return seconds(queueAttributes.parse(Attributes).VisibilityTimeout);
  }

  async receive({ maxMessages, waitTime, visibilityTimeout }: ReceiveOptions): Promise<readonly ReceivedMessage[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#url,
      MaxNumberOfMessages: maxMessages,
      WaitTimeSeconds: inSeconds(waitTime),
      VisibilityTimeout: inSeconds(visibilityTimeout),
      MessageSystemAttributeNames: ['MessageGroupId', 'ApproximateReceiveCount'],
      MessageAttributeNames: [hopsAttribute],
    });
    const { Messages = [] } = await callService(what, () => this.#longPollClient.send(command));
    return Messages.map(toReceivedMessage);
  }

  async changeVisibility(
    { receiptHandle }: ReceivedMessage,
    visibilityTimeout: DurationMs,
  ): Promise<'changed' | 'receipt_expired'> {
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl: this.#url,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: inSeconds(visibilityTimeout),
    });
    try {
      await callService(what, () => this.#client.send(command));
      return 'changed';
    } catch (error) {
      if (isReceiptExpired(error)) return 'receipt_expired';
      throw error;
    }
  }

  async delete({ receiptHandle }: ReceivedMessage): Promise<void> {
    try {
      await callService(what, () =>
        this.#client.send(new DeleteMessageCommand({ QueueUrl: this.#url, ReceiptHandle: receiptHandle })),
      );
    } catch (error) {
      if (!isReceiptExpired(error)) throw error;
    }
  }
}

const inSeconds = (duration: DurationMs): number => Math.ceil(duration / 1_000);

const isReceiptExpired = (error: unknown): boolean => error instanceof Error && receiptExpiredNames.has(error.name);

function toReceivedMessage(message: Message): ReceivedMessage {
  const { MessageId: id, ReceiptHandle: receiptHandle, Body: body, Attributes, MessageAttributes } = received.parse(message);
  const hops = parseHops(MessageAttributes[hopsAttribute]?.StringValue);
  // In a standard queue each message is its own group.
  return {
    id,
    receiptHandle,
    body,
    group: Attributes.MessageGroupId ?? id,
    receiveCount: Attributes.ApproximateReceiveCount,
    hops,
  };
}
