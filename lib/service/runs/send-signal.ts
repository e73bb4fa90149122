/** Sends a signal: to the wait that has lasted longest, or, where nobody waits, to the first that begins while it is kept. */
import { type RunAddress, type Scope, type SignalId, signalId } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { type DurationMs, after, days, durationMs, instant } from '../../engine/time.ts';
import type { Reservation } from '../../ports/control.ts';
import { type Decider, signalMatcherOf } from '../commit/decide-run.ts';
import { matchSignals } from '../commit/match-signals.ts';

export interface SignalRequest {
  readonly name: string;
  readonly payload: JsonValue;
  /** the sender's own name of it: sent again with the same one, it is the same signal */
  readonly signalId?: SignalId;
  /** the key of the request, which does the same */
  readonly idempotencyKey?: string;
  /** SHA-256, in hex, of all that the caller asked for */
  readonly bodyHash: string;
  /** how long it is kept for a wait that has not begun */
  readonly expiresIn?: DurationMs;
  /** where the key was given; absent: to `POST /v1/signals` */
  readonly endpoint?: string;
  /** how long the key is remembered; absent: as the settings say */
  readonly idempotencyTtlMs?: DurationMs;
}

export type SendSignalResult =
  | {
      readonly kind: 'sent';
      readonly signalId: SignalId;
      /** a wait has it; else it is kept */
      readonly isDelivered: boolean;
      readonly isReplay: boolean;
    }
  | { readonly kind: 'idempotency_conflict' };

export type SendToRunResult =
  | SendSignalResult
  | { readonly kind: 'not_found' }
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

/** Where its sender does not say. */
export const defaultSignalTtl = days(1);
const signalsEndpoint = 'POST /v1/signals';

export async function sendSignal(
  decider: Decider,
  scope: Scope,
  request: SignalRequest & { readonly correlation: string },
): Promise<SendSignalResult> {
  const { deps } = decider;
  const { name, correlation, payload, expiresIn = defaultSignalTtl } = request;
  const signalKey = { projectId: scope.projectId, environment: scope.environment, name, correlation };
  const reserved = await reserve(decider, scope, request);
  if (reserved === undefined) return { kind: 'idempotency_conflict' };
  const { standing: reservation, isReplay } = reserved;
  // It follows from what stands, so that each repetition keeps the same signal; kept twice, it is there once.
  const id = request.signalId ?? signalId(reservation.runId.replace(/^wrun/, 'sig'));
  const { reservedAt: receivedAt } = reservation;
  const keyTtl = durationMs(Math.max(expiresIn, keyTtlOf(decider, request)) + days(1));
  await deps.signals.store(signalKey, {
    signalId: id,
    payload,
    receivedAt,
    bufferedUntil: after(receivedAt, expiresIn),
    retainUntil: after(receivedAt, keyTtl),
  });
  const { signals } = await matchSignals(signalMatcherOf(decider), signalKey);
  const isTaken = signals.some((signal) => signal.signalId === id && signal.state === 'taken');
  // A sending that can be repeated is answered in the same way each time, whatever has become of the signal since.
  const isDelivered = keysOf(request).length === 0 ? isTaken : await deps.signals.recordDelivery(signalKey, id, isTaken);
  return { kind: 'sent', signalId: id, isDelivered, isReplay };
}

/** Sends to whichever wait of this run names no correlation of its own. */
export async function sendToRun(decider: Decider, run: RunAddress, request: SignalRequest): Promise<SendToRunResult> {
  const head = await decider.deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const { status } = head.projection;
  if (status !== 'pending' && status !== 'running') return { kind: 'run_terminal', status };
  return sendSignal(decider, run, { ...request, correlation: run.runId });
}

const keysOf = ({ idempotencyKey, signalId: id }: SignalRequest): readonly string[] => [
  ...(idempotencyKey === undefined ? [] : [`key ${idempotencyKey}`]),
  ...(id === undefined ? [] : [`signal ${id}`]),
];

const keyTtlOf = ({ deps }: Decider, { idempotencyTtlMs = deps.settings.idempotencyMs }: SignalRequest): DurationMs =>
  idempotencyTtlMs;

/** What stands under the names that the sender gave; undefined where it is another signal. Nothing is written of a sending without any. */
async function reserve(decider: Decider, scope: Scope, request: SignalRequest) {
  const { deps } = decider;
  const { endpoint = signalsEndpoint } = request;
  const now = deps.clock.now();
  const proposed: Reservation = {
    runId: deps.ids.runId(now),
    bodyHash: request.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const keyTtl = keyTtlOf(decider, request);
  const terms = { notBefore: instant(now - keyTtl), expiresAt: after(now, keyTtl) };
  const reservedKeys: string[] = [];
  let reservation = proposed;
  for (const name of keysOf(request)) {
    const reserved = await deps.reservations.reserve(scope, endpoint, name, reservation, terms);
    if (reserved.kind === 'reserved') reservedKeys.push(name);
    else if (reserved.by.bodyHash === request.bodyHash) reservation = reserved.by;
    else {
      // Nothing was tried under the names that were free.
      for (const reservedKey of reservedKeys) await deps.reservations.release(scope, endpoint, reservedKey, proposed.owner);
      return undefined;
    }
  }
  return { standing: reservation, isReplay: reservation !== proposed };
}
