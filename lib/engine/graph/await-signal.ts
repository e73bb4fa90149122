/** A node that waits for a signal: the event that begins the wait, and the output or failure that ends it. */
import { defined } from '../../base/defined.ts';
import { firstAttempt } from '../ids.ts';
import { inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { SignalWait } from '../log/node-state.ts';
import { iso } from '../time.ts';
import { type Draft, emit } from './draft.ts';
import type { ReceivedSignal } from './facts.ts';
import type { Outcome } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';
import { waitTimeoutDetails } from './wait-timeout.ts';

export function awaitSignal(
  draft: Draft,
  { node, iteration }: PlanNodeRef,
  { name, correlation = draft.tools.runId, expiresAt, expiryHandle }: Extract<Outcome, { kind: 'awaiting' }>,
  attempt = firstAttempt,
): void {
  // An expiry after the run's deadline never happens.
  const expiresBeforeDeadline = expiresAt !== undefined && expiresAt <= draft.tools.deadlineAt;
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
  details: waitTimeoutDetails(wait),
});
