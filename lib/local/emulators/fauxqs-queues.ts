/**
 * SQS's operations on the queues in memory. Adds what fauxqs does not implement: deduplication per group, and the system
 * attributes AWSTraceHeader and DeadLetterQueueSourceArn.
 */
import * as z from 'zod';
import { jsonBody, jsonErrorResponse, jsonResponse, targetOperation, type WireRequest } from '../aws/wire.ts';
import { lastPart } from '../aws-environment.ts';
import {
  type QueueAction,
  type QueueStore,
  hasGroupDeduplication,
  loadQueueActions,
  scopedDeduplicationId,
  sourceArnAttribute,
} from './fauxqs-patch.ts';
import type { Forward } from './forward.ts';

const operations = (
  'SendMessage SendMessageBatch ReceiveMessage DeleteMessage DeleteMessageBatch ' +
  'ChangeMessageVisibility ChangeMessageVisibilityBatch GetQueueAttributes GetQueueUrl'
).split(' ');

const entryShape = z.looseObject({
  MessageGroupId: z.string().optional(),
  MessageDeduplicationId: z.string().optional(),
});
const sendShape = entryShape.extend({ QueueUrl: z.string(), Entries: z.array(entryShape).optional() });

/** An error that fauxqs throws for an invalid request. */
const errorShape = z.looseObject({ code: z.string(), message: z.string(), statusCode: z.number(), queryErrorHeader: z.string() });

/** Makes equal deduplication ids of two groups different. */
function withScopedDeduplication(input: unknown, store: QueueStore): unknown {
  const parsed = sendShape.safeParse(input);
  const queue = parsed.success ? store.getQueueByName(lastPart(parsed.data.QueueUrl)) : undefined;
  if (!parsed.success || queue === undefined || !hasGroupDeduplication(queue)) return input;
  const scope = <Entry extends z.infer<typeof entryShape>>(entry: Entry): Entry =>
    entry.MessageGroupId === undefined || entry.MessageDeduplicationId === undefined
      ? entry
      : { ...entry, MessageDeduplicationId: scopedDeduplicationId(entry.MessageGroupId, entry.MessageDeduplicationId) };
  const { Entries, ...single } = parsed.data;
  return Entries === undefined ? scope(single) : { ...single, Entries: Entries.map(scope) };
}

/**
 * The message attribute in which fauxqs stores AWSTraceHeader, so that it survives a restart. SQS reserves this name. fauxqs
 * counts its bytes in the message size and in the digest of the attributes; SQS does not, and no client here checks that
 * digest.
 */
const traceHeaderAttribute = 'AWS.TraceHeader';

const attributeShape = z.looseObject({ DataType: z.string(), StringValue: z.string().optional() });
const tracedShape = z.looseObject({
  MessageAttributes: z.record(z.string(), attributeShape).optional(),
  MessageSystemAttributes: z.looseObject({ AWSTraceHeader: attributeShape.optional() }).optional(),
});
const tracedSendShape = tracedShape.extend({ Entries: z.array(tracedShape).optional() });

/** The message with its trace header as a message attribute. */
function withTraceHeader(input: unknown): unknown {
  const parsed = tracedSendShape.safeParse(input);
  if (!parsed.success) return input;
  const storeTraceHeader = ({ MessageSystemAttributes, MessageAttributes, ...message }: z.infer<typeof tracedShape>): object => {
    const header = MessageSystemAttributes?.AWSTraceHeader;
    const attributes = { ...MessageAttributes, ...(header === undefined ? {} : { [traceHeaderAttribute]: header }) };
    return { ...message, ...(Object.keys(attributes).length === 0 ? {} : { MessageAttributes: attributes }) };
  };
  const { Entries, ...single } = parsed.data;
  return Entries === undefined ? storeTraceHeader(single) : { ...single, Entries: Entries.map(storeTraceHeader) };
}

const names = z.array(z.string()).default([]);
const receiveShape = z.looseObject({ AttributeNames: names, MessageSystemAttributeNames: names, MessageAttributeNames: names });
const receivedShape = z.looseObject({
  Messages: z
    .array(
      z.looseObject({
        Attributes: z.record(z.string(), z.string()).optional(),
        MessageAttributes: z.record(z.string(), attributeShape).optional(),
        MD5OfMessageAttributes: z.string().optional(),
      }),
    )
    .optional(),
});

/** System attributes, by the message attribute that stores them. */
const storedSystemAttributes: ReadonlyMap<string, string> = new Map([
  [traceHeaderAttribute, 'AWSTraceHeader'],
  [sourceArnAttribute, 'DeadLetterQueueSourceArn'],
]);

/** Receives messages, and returns the stored attributes as system attributes to requests that ask for them. */
async function receive(action: QueueAction, input: unknown, store: QueueStore): Promise<unknown> {
  const parsedRequest = receiveShape.safeParse(input);
  if (!parsedRequest.success) return action(input, store, { headers: {} });
  const { AttributeNames, MessageSystemAttributeNames, MessageAttributeNames } = parsedRequest.data;
  const wanted = new Set([...AttributeNames, ...MessageSystemAttributeNames]);
  const extendedInput = {
    ...parsedRequest.data,
    MessageAttributeNames: [...MessageAttributeNames, ...storedSystemAttributes.keys()],
  };
  const { Messages, ...response } = receivedShape.parse(await action(extendedInput, store, { headers: {} }));
  const messages = Messages?.map(({ MessageAttributes, MD5OfMessageAttributes, Attributes, ...message }) => {
    const callerAttributes = Object.fromEntries(
      Object.entries(MessageAttributes ?? {}).filter(([name]) => !storedSystemAttributes.has(name)),
    );
    const storedAttributes = [...storedSystemAttributes].flatMap(([name, attribute]) => {
      const value = MessageAttributes?.[name]?.StringValue;
      return value === undefined ? [] : [[attribute, value] as const];
    });
    const requestedAttributes = storedAttributes.filter(([attribute]) => wanted.has('All') || wanted.has(attribute));
    const attributes = { ...Attributes, ...Object.fromEntries(requestedAttributes) };
    return {
      ...message,
      ...(Object.keys(attributes).length === 0 ? {} : { Attributes: attributes }),
      ...(Object.keys(callerAttributes).length === 0 ? {} : { MessageAttributes: callerAttributes }),
      ...(MD5OfMessageAttributes === undefined || storedAttributes.length > 0 ? {} : { MD5OfMessageAttributes }),
    };
  });
  return { ...response, ...(messages === undefined ? {} : { Messages: messages }) };
}

export async function openQueues(store: QueueStore): Promise<Forward> {
  const actions = await loadQueueActions(operations);
  return async (request: WireRequest) => {
    const operation = targetOperation(request);
    const action = actions.get(operation);
    if (action === undefined) {
      return jsonErrorResponse('com.amazonaws.sqs#', {
        code: 'InvalidAction',
        message: `Unknown action: ${operation}`,
        status: 400,
      });
    }
    const input = jsonBody(request);
    try {
      if (operation === 'ReceiveMessage') return jsonResponse(200, await receive(action, input, store));
      const sent = operation.startsWith('SendMessage') ? withTraceHeader(withScopedDeduplication(input, store)) : input;
      return jsonResponse(200, await action(sent, store, { headers: {} }));
    } catch (error) {
      const known = errorShape.safeParse(error);
      if (!known.success) throw error;
      const { code, message, statusCode, queryErrorHeader } = known.data;
      const response = jsonErrorResponse('com.amazonaws.sqs#', { code, message, status: statusCode });
      return { ...response, headers: { ...response.headers, 'x-amzn-query-error': queryErrorHeader } };
    }
  };
}
