/** A node that waits for a signal: how the wait begins, and what it is finished with. */
import { firstAttempt } from '../ids.ts';
import { inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { SignalWait } from '../log/node-state.ts';
import { iso } from '../time.ts';
import { type Draft, emit } from './draft.ts';
import type { ReceivedSignal } from './facts.ts';
import type { Outcome } from './outcome.ts';
import type { Place } from './plan.ts';
import { limitOf } from './wait-limit.ts';

export function awaitSignal(
  draft: Draft,
  { node, iteration }: Place,
  { name, correlation = draft.tools.runId, expiresAt, expiryHandle }: Extract<Outcome, { kind: 'awaiting' }>,
  attempt = firstAttempt,
): void {
  // The run's own deadline comes before an expiry that lies behind it.
  const endsInTime = expiresAt !== undefined && expiresAt <= draft.tools.deadlineAt;
  emit(draft, {
    type: 'SIGNAL_AWAITED',
    nodeId: node.id,
    iteration,
    attempt,
    name,
    correlation,
    ...(endsInTime ? { expiresAt } : {}),
    ...(endsInTime && expiryHandle !== undefined ? { expiryHandle } : {}),
  });
}

/** The node's output. Without a signal, after a wait that was over, it has the same keys. */
export const outputOfWait = ({ name, correlation }: SignalWait, signal?: ReceivedSignal) =>
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
  message: `no signal ${wait.name} came in time`,
  details: limitOf(wait),
});
