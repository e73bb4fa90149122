/**
 * What SQS bills of one call: every call is a request, and one for each 64 KB that it carries
 * (https://aws.amazon.com/sqs/pricing/). A receive that finds nothing is billed like any other, and is counted apart: it is
 * what an event source costs while nothing happens, and no run is to blame for it.
 */
import * as z from 'zod';

const chunkBytes = 65_536;

const message = z.looseObject({ Body: z.string(), ReceiptHandle: z.string() });
const receiveOutput = z.looseObject({ Messages: z.array(message).default([]) });
const entry = z.looseObject({ MessageBody: z.string() });
const queue = z.looseObject({ QueueUrl: z.string() });
const shapes = {
  SendMessage: queue.extend(entry.shape),
  SendMessageBatch: queue.extend({ Entries: z.array(entry) }),
  DeleteMessage: queue.extend({ ReceiptHandle: z.string() }),
  DeleteMessageBatch: queue.extend({ Entries: z.array(z.looseObject({ ReceiptHandle: z.string() })) }),
};

export interface QueueCall {
  readonly verb: 'send' | 'receive' | 'delete';
  /** the queue's name */
  readonly queue: string;
  readonly requests: number;
  /** a receive that found nothing */
  readonly isEmpty: boolean;
  /** what it carries */
  readonly bodies: readonly string[];
  /** what was received or deleted */
  readonly handles: readonly string[];
}

const requestsFor = (bodies: readonly string[]): number =>
  Math.max(1, Math.ceil(bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / chunkBytes));

const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

export function readQueueCall(operation: string, input: unknown, output: unknown): QueueCall {
  const call = (verb: QueueCall['verb'], url: string, bodies: readonly string[], handles: readonly string[] = []): QueueCall => ({
    verb,
    queue: nameOf(url),
    requests: requestsFor(bodies),
    isEmpty: verb === 'receive' && handles.length === 0,
    bodies,
    handles,
  });
  switch (operation) {
    case 'SendMessage': {
      const { QueueUrl, MessageBody } = shapes.SendMessage.parse(input);
      return call('send', QueueUrl, [MessageBody]);
    }
    case 'SendMessageBatch': {
      const { QueueUrl, Entries } = shapes.SendMessageBatch.parse(input);
      return call(
        'send',
        QueueUrl,
        Entries.map(({ MessageBody }) => MessageBody),
      );
    }
    case 'ReceiveMessage': {
      const { Messages } = receiveOutput.parse(output);
      return call(
        'receive',
        queue.parse(input).QueueUrl,
        Messages.map(({ Body }) => Body),
        Messages.map(({ ReceiptHandle }) => ReceiptHandle),
      );
    }
    case 'DeleteMessage': {
      const { QueueUrl, ReceiptHandle } = shapes.DeleteMessage.parse(input);
      return call('delete', QueueUrl, [], [ReceiptHandle]);
    }
    case 'DeleteMessageBatch': {
      const { QueueUrl, Entries } = shapes.DeleteMessageBatch.parse(input);
      return call(
        'delete',
        QueueUrl,
        [],
        Entries.map(({ ReceiptHandle }) => ReceiptHandle),
      );
    }
    default:
      throw new Error(`the bill does not know how ${operation} of a queue is billed`);
  }
}
