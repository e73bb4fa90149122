/**
 * Nodes that wait for a signal or for a called run: the event that begins the wait, and the output or the failure that ends it.
 */
import { defined } from '../../base/defined.ts';
import { type NodeRef, type RunId, firstAttempt } from '../ids.ts';
import { type JsonObject, inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { SignalWait, ChildWait } from '../log/node-state.ts';
import { iso, between } from '../time.ts';
import { checkCallBudget } from './budget.ts';
import { emit, latestDeadline } from '../decision.ts';
import type { Draft } from './draft.ts';
import type { ReceivedSignal, ChildEnd } from './facts.ts';
import type { Outcome } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';

export function awaitSignal(
  draft: Draft,
  { node, iteration }: PlanNodeRef,
  { name, correlation = draft.tools.runId, expiresAt, expiryHandle }: Extract<Outcome, { kind: 'awaiting' }>,
  attempt = firstAttempt,
): void {
  // An expiry after the run's latest deadline never happens.
  const expiresBeforeDeadline = expiresAt !== undefined && expiresAt <= latestDeadline(draft);
  emit(
    draft,
    defined({
      type: 'SIGNAL_AWAITED',
      nodeId: node.id,
      iteration,
      attempt,
      name,
      correlation,
      expiresAt: expiresBeforeDeadline ? expiresAt : undefined,
      expiryHandle: expiresBeforeDeadline && expiryHandle !== undefined ? expiryHandle : undefined,
    }),
  );
}

/** The node's output. If the wait expired, it has the same keys with null. */
export const signalWaitOutput = ({ name, correlation }: SignalWait, signal?: ReceivedSignal) =>
  inline({
    signalId: signal?.signalId ?? null,
    name,
    correlation,
    payload: signal?.payload ?? null,
    receivedAt: signal === undefined ? null : iso(signal.receivedAt),
  });

export const signalExpired = (wait: SignalWait): Failure => ({
  cause: 'timeout',
  code: 'signal_expired',
  message: `no signal ${wait.name} arrived before the wait expired`,
  details: { ...waitTimeoutDetails(wait), input: { signal: wait.name, correlation: wait.correlation } },
});

export function callSubflow(
  draft: Draft,
  { node, iteration }: PlanNodeRef,
  { workflowName, version, input, expiresAt, parentClosePolicy, onChildCancelled }: Extract<Outcome, { kind: 'calling' }>,
  attempt = firstAttempt,
): void {
  const ref: NodeRef = { nodeId: node.id, iteration };
  if (!checkCallBudget(draft, ref, attempt)) return;
  // An expiry after the run's latest deadline never happens.
  const expiresBeforeDeadline = expiresAt !== undefined && expiresAt <= latestDeadline(draft);
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
  const isFinal = cause === 'invalid' || cause === 'forbidden' || cause === 'budget' || cause === 'code_error';
  return isFinal ? 'invalid' : 'error';
}

export const subflowExpired = (wait: ChildWait): Failure => ({
  cause: 'timeout',
  code: 'subflow_expired',
  message: `the called run of ${wait.workflowName} did not end before the wait expired`,
  details: { childRunId: wait.childRunId, ...waitTimeoutDetails(wait) },
});

/** Rounded to seconds, the unit of the setting: the wait's commit is stamped a moment after its decision. */
const waitTimeoutDetails = ({ dispatchedAt, expiresAt }: SignalWait | ChildWait): JsonObject =>
  expiresAt === undefined ? {} : { timeoutMs: Math.round(between(dispatchedAt, expiresAt) / 1_000) * 1_000 };
