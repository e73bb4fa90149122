/** A node that calls another workflow: the event of the call, and the failure that its end can cause. */
import { defined } from '../../base/defined.ts';
import { type NodeRef, type RunId, firstAttempt } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import type { ChildWait } from '../log/node-state.ts';
import { checkCallBudget } from './budget.ts';
import { type Draft, emit } from './draft.ts';
import type { ChildEnd } from './facts.ts';
import type { Outcome } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';
import { waitTimeoutDetails } from './wait-timeout.ts';

export function callSubflow(
  draft: Draft,
  { node, iteration }: PlanNodeRef,
  { workflowName, version, input, expiresAt, parentClosePolicy, onChildCancelled }: Extract<Outcome, { kind: 'calling' }>,
  attempt = firstAttempt,
): void {
  const ref: NodeRef = { nodeId: node.id, iteration };
  if (!checkCallBudget(draft, ref, attempt)) return;
  // An expiry after the run's deadline never happens.
  const expiresBeforeDeadline = expiresAt !== undefined && expiresAt <= draft.tools.deadlineAt;
  emit(
    draft,
    defined({
      type: 'SUBFLOW_CALLED',
      ...ref,
      attempt,
      childRunId: draft.tools.childRunId(ref, attempt),
      workflowName,
      version,
      input,
      expiresAt: expiresBeforeDeadline ? expiresAt : undefined,
      parentClosePolicy,
      onChildCancelled,
    }),
  );
}

/** The node's failure; undefined if the child completed. */
export function failureOfChild(end: ChildEnd, childRunId: RunId): Failure | undefined {
  switch (end.status) {
    case 'completed':
      return undefined;
    case 'failed': {
      const { cause, code, message } = end.error;
      return {
        cause: causeForCaller(cause),
        code: 'subflow_failed',
        message: `the called run failed: ${message}`,
        details: { childRunId, code: code ?? cause },
      };
    }
    case 'cancelled':
      return {
        cause: 'error',
        code: 'subflow_cancelled',
        message: `the called run was cancelled${end.reason === undefined ? '' : `: ${end.reason}`}`,
        details: { childRunId },
      };
    case 'refused':
      return end.error;
  }
}

/**
 * The cause for the caller. A child's deadline is a timeout. A failure that no retry can change stays `invalid`: retried at each level
 * of a recursive workflow, it would run three to the power of the depth.
 */
function causeForCaller(cause: Failure['cause']): Failure['cause'] {
  if (cause === 'deadline') return 'timeout';
  return cause === 'invalid' || cause === 'forbidden' || cause === 'budget' ? 'invalid' : 'error';
}

export const subflowExpired = (wait: ChildWait): Failure => ({
  cause: 'timeout',
  code: 'subflow_expired',
  message: `the called run of ${wait.workflowName} did not end before the wait expired`,
  details: { childRunId: wait.childRunId, ...waitTimeoutDetails(wait) },
});
