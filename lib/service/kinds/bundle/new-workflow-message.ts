/** Creates the message that makes the workflow of a bundle run check its run again. */
import { type Message, workflowQueue } from '../../../engine/bundle/message.ts';
import { type NodeId, type RunId, nodeKey, topLevel } from '../../../engine/ids.ts';
import type { BundleHead } from '../../../engine/log/head.ts';
import { newMessage } from './decide-bundle-run.ts';
import type { Deps } from '../../deps.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';
import { readRunInput } from '../../run-log/read-run-input.ts';

/** Whether the run's log contains the message. */
export const hasMessage = ({ state }: Pick<RunFold, 'state'>, { id }: { readonly id: NodeId }): boolean =>
  state.nodes.has(nodeKey({ nodeId: id, iteration: topLevel }));

/** @param details the reason for the message, and the payload that it carries */
export async function newWorkflowMessage(
  deps: Deps,
  head: BundleHead,
  details: Pick<Message, 'reason' | 'payload'> = {},
  idSeed?: RunId,
) {
  const body = { runId: head.address.runId, input: await readRunInput(deps, head) };
  return newMessage(deps, 'workflow', { queueName: workflowQueue(head.workflow.name), body, ...details }, idSeed);
}
