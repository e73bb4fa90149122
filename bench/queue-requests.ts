/**
 * Billed SQS requests of one call: each 64 KB of payload is one request (https://aws.amazon.com/sqs/pricing/). Empty receives are
 * billed too, but are counted separately: they are the idle cost of an event source and belong to no run.
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
  /** an empty receive */
  readonly isEmpty: boolean;
  /** payload size */
  readonly bodies: readonly string[];
  /** received or deleted messages */
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
