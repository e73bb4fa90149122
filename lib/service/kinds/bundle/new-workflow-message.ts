/** Messages that make the workflow of a bundle run check its run again: at a resumption, and when its run is woken. */
import { defined } from '../../../base/defined.ts';
import { type Message, workflowQueue } from '../../../engine/bundle/message.ts';
import { type NodeId, type RunId, nodeKey, topLevel } from '../../../engine/ids.ts';
import type { BundleHead } from '../../../engine/log/head.ts';
import type { Deps } from '../../deps.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';
import { readRunInput } from '../../run-log/read-run-input.ts';
import { inline } from '../../../engine/json.ts';
import { commitWithDueEntry, endStatusOf } from '../../commit/commit-with-due-entry.ts';
import type { Decider } from '../../decider.ts';
import type { FoldOf } from '../../run-kind.ts';
import type { AppendResult } from '../../run-log/append.ts';
import type { ResumeTerms } from '../../runs/resume-run.ts';
import type { WakeRequest, WakeResult } from '../../runs/wake-run.ts';
import { decideBundleRun, newMessage } from './decide-bundle-run.ts';

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

export async function resumeBundleRun(
  decider: Decider,
  fold: FoldOf<'bundle'>,
  { reason, payload, token, idSeed }: ResumeTerms,
): Promise<AppendResult> {
  const message = await newWorkflowMessage(decider.deps, fold.head, defined({ reason, payload }), idSeed);
  const resumed = defined({ reason, payload: payload === undefined ? undefined : inline(payload), token });
  return decideBundleRun(decider, fold, [{ kind: 'resumed', newMessage: message, ...resumed }]);
}

/** The workflow receives a message and checks what it waits for. */
export async function wakeBundleRun(decider: Decider, fold: FoldOf<'bundle'>, { retries }: WakeRequest): Promise<WakeResult> {
  // The bundle's own code decides about its retries.
  if (retries === true) return { kind: 'woken', nodeIds: [] };
  const message = await newWorkflowMessage(decider.deps, fold.head);
  await commitWithDueEntry(decider, fold, () => decideBundleRun(decider, fold, [{ kind: 'message-sent', newMessage: message }]));
  const statusAfter = endStatusOf(fold);
  return statusAfter === undefined || hasMessage(fold, message)
    ? { kind: 'woken', nodeIds: [message.id] }
    : { kind: 'run_terminal', status: statusAfter };
}
