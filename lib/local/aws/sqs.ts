/** SQS: finds the queue of a request, forwards it to the emulator, and corrects known errors of the emulator's response. */
import * as z from 'zod';
import { arns, lastPart, queueUrl } from '../aws-environment.ts';
import {
  jsonBody,
  jsonErrorResponse,
  targetOperation,
  unknownOperation,
  type Service,
  type WireRequest,
  type WireResponse,
} from './wire.ts';

/** The permission of each operation; a batch needs the permission of the single operation. */
const permissions: Readonly<Record<string, string>> = {
  SendMessage: 'SendMessage',
  SendMessageBatch: 'SendMessage',
  ReceiveMessage: 'ReceiveMessage',
  DeleteMessage: 'DeleteMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibility: 'ChangeMessageVisibility',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
  GetQueueAttributes: 'GetQueueAttributes',
  GetQueueUrl: 'GetQueueUrl',
};

const entries = z.array(z.looseObject({}));
const sendShape = z.looseObject({ Entries: entries.optional() });

/**
 * SQS copies the request's trace header to each message that has none, as the system attribute AWSTraceHeader. Lambda reads
 * from it how often a function was invoked in the message's chain.
 */
function withTraceHeader(request: WireRequest, input: unknown): WireRequest {
  const StringValue = request.headers['x-amzn-trace-id'];
  const parsed = sendShape.safeParse(input);
  if (StringValue === undefined || !parsed.success) return request;
  const AWSTraceHeader = { DataType: 'String', StringValue };
  const addHeader = (message: object): object => ({ MessageSystemAttributes: { AWSTraceHeader }, ...message });
  const { Entries, ...single } = parsed.data;
  const body = Entries === undefined ? addHeader(single) : { ...single, Entries: Entries.map(addHeader) };
  return { ...request, body: Buffer.from(JSON.stringify(body)) };
}

const inputShape = z.looseObject({ QueueUrl: z.string().optional(), QueueName: z.string().optional() });

export function sqs(forward: (request: WireRequest) => Promise<WireResponse>, endpoint: string): Service {
  return {
    name: 'sqs',
    parse(request) {
      const name = targetOperation(request);
      const permission = permissions[name];
      if (permission === undefined) return unknownOperation(name);
      const input = inputShape.safeParse(jsonBody(request));
      if (!input.success) return { code: 'SerializationException', message: 'The body is not valid', status: 400 };
      const queue = lastPart(input.data.QueueUrl ?? input.data.QueueName ?? '');
      return { name, input: input.data, requiredPermissions: [{ action: `sqs:${permission}`, resource: arns.queue(queue) }] };
    },
    async handle(request, { name, input }) {
      const response = await forward(name.startsWith('SendMessage') ? withTraceHeader(request, input) : request);
      if (name !== 'GetQueueUrl' || response.status !== 200) return response;
      // The emulator would return its own host, and the SDK calls the host of the queue's URL.
      const { QueueName } = inputShape.parse(input);
      return { ...response, body: Buffer.from(JSON.stringify({ QueueUrl: queueUrl(endpoint, QueueName ?? '') })) };
    },
    toErrorResponse: (error) => jsonErrorResponse('com.amazonaws.sqs#', error),
  };
}
