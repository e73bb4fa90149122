/** The message that a fetch run's workflow is given when it is to look at its run again. */
import { type Message, workflowQueue } from '../engine/fetch/message.ts';
import type { RunId } from '../engine/ids.ts';
import type { FetchHead } from '../engine/log/head.ts';
import { newMessage } from './decide-fetch-run.ts';
import type { Deps } from './deps.ts';
import { inputOf } from './run-input.ts';

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
