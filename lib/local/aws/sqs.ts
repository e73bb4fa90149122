/** SQS: which queue a request means; the answer is the emulator's, with what it is known to get wrong put right. */
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

/** The permission that each operation needs; a batch needs that of the single one. */
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
 * SQS takes the trace header of the request for each message that does not bring one, as its system attribute AWSTraceHeader: by
 * that Lambda knows how often a function was invoked in the chain that a message belongs to.
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
      if (!input.success) return { code: 'SerializationException', message: 'The body is not understood', status: 400 };
      const queue = lastPart(input.data.QueueUrl ?? input.data.QueueName ?? '');
      return { name, input: input.data, requiredPermissions: [{ action: `sqs:${permission}`, resource: arns.queue(queue) }] };
    },
    async handle(request, { name, input }) {
      const response = await forward(name.startsWith('SendMessage') ? withTraceHeader(request, input) : request);
      if (name !== 'GetQueueUrl' || response.status !== 200) return response;
      // the emulator would name a host of its own, and the SDK calls whatever host a queue's URL names
      const { QueueName } = inputShape.parse(input);
      return { ...response, body: Buffer.from(JSON.stringify({ QueueUrl: queueUrl(endpoint, QueueName ?? '') })) };
    },
    toErrorResponse: (error) => jsonErrorResponse('com.amazonaws.sqs#', error),
  };
}
