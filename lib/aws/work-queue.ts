/** A queue of work on SQS. */
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
import type { HeldMessage, Wanted, WorkQueue } from '../ports/work-queue.ts';
import { reach } from './reach.ts';

const what = 'the queue of work';

/** Whose time is over, or who is deleted: by handle or by state. */
const goneNames = new Set([
  'MessageNotInflight',
  'ReceiptHandleIsInvalid',
  'InvalidParameterValue',
  'InvalidParameterValueException',
]);

const own = z.object({ VisibilityTimeout: z.coerce.number().int() });
const received = z.object({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  Body: z.string(),
  MessageAttributes: z.record(z.string(), z.looseObject({ StringValue: z.string().optional() })).default({}),
  Attributes: z.object({ MessageGroupId: z.string().optional(), ApproximateReceiveCount: z.coerce.number().int().default(1) }),
});

export class SqsWorkQueue implements WorkQueue {
  readonly #client: SQSClient;
  readonly #waiting: SQSClient;
  readonly #url: string;

  /** @param waiting has the patience of a long poll */
  constructor({ client, waiting }: { readonly client: SQSClient; readonly waiting: SQSClient }, url: string) {
    this.#client = client;
    this.#waiting = waiting;
    this.#url = url;
  }

  async ownHold(): Promise<DurationMs> {
    const command = new GetQueueAttributesCommand({ QueueUrl: this.#url, AttributeNames: ['VisibilityTimeout'] });
    const { Attributes } = await reach(what, () => this.#client.send(command));
    return seconds(own.parse(Attributes).VisibilityTimeout);
  }

  async receive({ most, wait, hold }: Wanted): Promise<readonly HeldMessage[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#url,
      MaxNumberOfMessages: most,
      WaitTimeSeconds: inSeconds(wait),
      VisibilityTimeout: inSeconds(hold),
      MessageSystemAttributeNames: ['MessageGroupId', 'ApproximateReceiveCount'],
      MessageAttributeNames: [hopsAttribute],
    });
    const { Messages = [] } = await reach(what, () => this.#waiting.send(command));
    return Messages.map(held);
  }

  async hold({ handle }: HeldMessage, hold: DurationMs): Promise<'held' | 'gone'> {
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl: this.#url,
      ReceiptHandle: handle,
      VisibilityTimeout: inSeconds(hold),
    });
    try {
      await reach(what, () => this.#client.send(command));
      return 'held';
    } catch (trouble) {
      if (isGone(trouble)) return 'gone';
      throw trouble;
    }
  }

  async delete({ handle }: HeldMessage): Promise<void> {
    try {
      await reach(what, () => this.#client.send(new DeleteMessageCommand({ QueueUrl: this.#url, ReceiptHandle: handle })));
    } catch (trouble) {
      if (!isGone(trouble)) throw trouble;
    }
  }
}

const inSeconds = (wait: DurationMs): number => Math.ceil(wait / 1_000);

const isGone = (trouble: unknown): boolean => trouble instanceof Error && goneNames.has(trouble.name);

function held(message: Message): HeldMessage {
  const { MessageId: id, ReceiptHandle: handle, Body: body, Attributes, MessageAttributes } = received.parse(message);
  const hops = parseHops(MessageAttributes[hopsAttribute]?.StringValue);
  // A queue without groups has none to respect: each message is its own.
  return { id, handle, body, group: Attributes.MessageGroupId ?? id, receives: Attributes.ApproximateReceiveCount, hops };
}
