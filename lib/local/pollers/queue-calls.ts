/** What the service behind an event source asks of a queue; it acts for the function, and is billed like any other caller. */
import * as z from 'zod';
import type { Forward } from '../emulators/forward.ts';
import type { Recorder } from '../recorder/recorder.ts';

const messageShape = z.looseObject({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  Body: z.string(),
  MD5OfBody: z.string(),
  Attributes: z.record(z.string(), z.string()).default({}),
  MessageAttributes: z
    .record(
      z.string(),
      z.looseObject({ DataType: z.string(), StringValue: z.string().optional(), BinaryValue: z.string().optional() }),
    )
    .default({}),
});
const receivedShape = z.looseObject({ Messages: z.array(messageShape).default([]) });

export type Message = z.infer<typeof messageShape>;

export interface QueueCalls {
  receive(queueUrl: string, most: number, waitSeconds: number): Promise<readonly Message[]>;
  /** At most ten. */
  delete(queueUrl: string, messages: readonly Message[]): Promise<void>;
  /** Makes the message visible again at once: its receive counts, and after too many of those it is a dead letter. */
  giveBack(queueUrl: string, message: Message): Promise<void>;
  send(queueUrl: string, body: string, groupId: string | undefined): Promise<void>;
}

export function queueCalls(forward: Forward, recorder: Recorder, by: string): QueueCalls {
  async function ask(operation: string, input: object): Promise<unknown> {
    const body = Buffer.from(JSON.stringify(input));
    const startedAt = performance.now();
    const response = await forward({
      method: 'POST',
      path: '/',
      url: '/',
      query: new URLSearchParams(),
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` },
      body,
    });
    const { status, body: answered } = response;
    const tookMs = performance.now() - startedAt;
    recorder.record({ by, service: 'sqs', operation, input, requestBytes: body.length, status, response: answered, tookMs });
    if (status !== 200) throw new Error(`${operation}: ${answered.toString('utf8')}`);
    return JSON.parse(answered.toString('utf8'));
  }

  return {
    async receive(QueueUrl, MaxNumberOfMessages, WaitTimeSeconds) {
      const names = { MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'] };
      return receivedShape.parse(await ask('ReceiveMessage', { QueueUrl, MaxNumberOfMessages, WaitTimeSeconds, ...names }))
        .Messages;
    },
    async delete(QueueUrl, messages) {
      if (messages.length === 0) return;
      const Entries = messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
      await ask('DeleteMessageBatch', { QueueUrl, Entries });
    },
    async giveBack(QueueUrl, { ReceiptHandle }) {
      await ask('ChangeMessageVisibility', { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });
    },
    async send(QueueUrl, MessageBody, MessageGroupId) {
      await ask('SendMessage', { QueueUrl, MessageBody, ...(MessageGroupId === undefined ? {} : { MessageGroupId }) });
    },
  };
}
