/** The requests of an event source to its queue. They use the function's permissions and are billed like any other call. */
import { defined } from '../../base/defined.ts';
import * as z from 'zod';
import type { Forward } from '../emulators/forward.ts';
import type { CallDelay, Recorder } from '../recorder.ts';

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

export interface QueueClient {
  receive(queueUrl: string, maxMessages: number, waitSeconds: number): Promise<readonly Message[]>;
  /** At most ten. */
  delete(queueUrl: string, messages: readonly Message[]): Promise<void>;
  /** Makes the message visible at once. Its receive count stays, so repeated calls make it a dead letter. */
  makeVisible(queueUrl: string, message: Message): Promise<void>;
  /** @param attributes text attributes of the message */
  send(queueUrl: string, body: string, groupId: string | undefined, attributes?: Readonly<Record<string, string>>): Promise<void>;
}

export function createQueueClient(forward: Forward, recorder: Recorder, caller: string, callDelay?: CallDelay): QueueClient {
  async function callSqs(operation: string, input: object): Promise<unknown> {
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
    const { status, body: responseBody } = response;
    const tookMs = performance.now() - startedAt;
    recorder.record({
      caller,
      service: 'sqs',
      operation,
      input,
      requestBytes: body.length,
      status,
      response: responseBody,
      tookMs,
    });
    if (status !== 200) throw new Error(`${operation}: ${responseBody.toString('utf8')}`);
    return JSON.parse(responseBody.toString('utf8'));
  }

  return {
    async receive(QueueUrl, MaxNumberOfMessages, WaitTimeSeconds) {
      const names = { MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'] };
      return receivedShape.parse(await callSqs('ReceiveMessage', { QueueUrl, MaxNumberOfMessages, WaitTimeSeconds, ...names }))
        .Messages;
    },
    async delete(QueueUrl, messages) {
      if (messages.length === 0) return;
      const Entries = messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
      await callDelay?.('sqs', 'DeleteMessageBatch');
      await callSqs('DeleteMessageBatch', { QueueUrl, Entries });
    },
    async makeVisible(QueueUrl, { ReceiptHandle }) {
      await callSqs('ChangeMessageVisibility', { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });
    },
    async send(QueueUrl, MessageBody, MessageGroupId, attributes) {
      const textAttributes = Object.entries(attributes ?? {}).map(
        ([name, StringValue]) => [name, { DataType: 'String', StringValue }] as const,
      );
      const MessageAttributes = attributes === undefined ? undefined : Object.fromEntries(textAttributes);
      await callSqs('SendMessage', defined({ QueueUrl, MessageBody, MessageGroupId, MessageAttributes }));
    },
  };
}
