/** The message that a fetch run's workflow is given when it is to look at its run again. */
import { type Message, workflowQueue } from '../engine/fetch/message.ts';
import { type NodeId, type RunId, nodeKey, topLevel } from '../engine/ids.ts';
import type { FetchHead } from '../engine/log/head.ts';
import { newMessage } from './decide-fetch-run.ts';
import type { Deps } from './deps.ts';
import type { RunFold } from './read-log.ts';
import { inputOf } from './run-input.ts';

/** Whether the run's log has the message, sent or done. */
export const hasMessage = ({ state }: Pick<RunFold, 'state'>, { id }: { readonly id: NodeId }): boolean =>
  state.nodes.has(nodeKey({ nodeId: id, iteration: topLevel }));

/** @param told why, and what is brought along */
export async function workflowMessage(
  deps: Deps,
  head: FetchHead,
  told: Pick<Message, 'reason' | 'payload'> = {},
  drawn?: RunId,
) {
  const body = { runId: head.address.runId, input: await inputOf(deps, head) };
  return newMessage(deps, 'workflow', { queueName: workflowQueue(head.workflow.name), body, ...told }, drawn);
}
