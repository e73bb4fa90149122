/** SQS's operations on the queues in memory, with deduplication per group for the queues that ask for it. */
import * as z from 'zod';
import { jsonBody, jsonFault, jsonResponse, targetOperation, type WireRequest } from '../aws/wire.ts';
import { lastPart } from '../place.ts';
import { loadQueueActions, type QueueStore } from './fauxqs-classes.ts';
import { hasGroupDeduplication, scopedDeduplicationId } from './fauxqs-patch.ts';
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

/** What fauxqs throws for a mistake of the caller's. */
const errorShape = z.looseObject({ code: z.string(), message: z.string(), statusCode: z.number(), queryErrorHeader: z.string() });

/** Equal deduplication ids of two groups are made to differ. */
function scoped(input: unknown, store: QueueStore): unknown {
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

export async function openQueues(store: QueueStore): Promise<Forward> {
  const actions = await loadQueueActions(operations);
  return async (request: WireRequest) => {
    const operation = targetOperation(request);
    const action = actions.get(operation);
    if (action === undefined) {
      return jsonFault('com.amazonaws.sqs#', { code: 'InvalidAction', message: `Unknown action: ${operation}`, status: 400 });
    }
    const input = jsonBody(request);
    try {
      return jsonResponse(
        200,
        await action(operation.startsWith('SendMessage') ? scoped(input, store) : input, store, { headers: {} }),
      );
    } catch (error) {
      const known = errorShape.safeParse(error);
      if (!known.success) throw error;
      const { code, message, statusCode, queryErrorHeader } = known.data;
      const answer = jsonFault('com.amazonaws.sqs#', { code, message, status: statusCode });
      return { ...answer, headers: { ...answer.headers, 'x-amzn-query-error': queryErrorHeader } };
    }
  };
}
