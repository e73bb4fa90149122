/** A node that calls another workflow: how the call is made, and what the node ends with. */
import { defined } from '../defined.ts';
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
  // The run's own deadline comes before an expiry that lies behind it.
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

/** What the node failed with; undefined where the child gave it an output. */
export function failureOfChild(end: ChildEnd, childRunId: RunId): Failure | undefined {
  switch (end.status) {
    case 'completed':
      return undefined;
    case 'failed': {
      const { cause, code, message } = end.error;
      return {
        cause: causeForCaller(cause),
        code: 'subflow_failed',
        message: `the run it called failed: ${message}`,
        details: { childRunId, code: code ?? cause },
      };
    }
    case 'cancelled':
      return {
        cause: 'error',
        code: 'subflow_cancelled',
        message: `the run it called was cancelled${end.reason === undefined ? '' : `: ${end.reason}`}`,
        details: { childRunId },
      };
    case 'refused':
      return end.error;
  }
}

/**
 * Its deadline is a time limit to whoever called it. What can never work below cannot above: tried again on each floor of a
 * workflow that calls itself, it would be three to the power of the floors.
 */
function causeForCaller(cause: Failure['cause']): Failure['cause'] {
  if (cause === 'deadline') return 'timeout';
  return cause === 'invalid' || cause === 'forbidden' || cause === 'budget' ? 'invalid' : 'error';
}

export const subflowExpired = (wait: ChildWait): Failure => ({
  cause: 'timeout',
  code: 'subflow_expired',
  message: `the run of ${wait.workflowName} that it called did not end in time`,
  details: { childRunId: wait.childRunId, ...waitTimeoutDetails(wait) },
});
