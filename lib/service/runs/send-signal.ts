/** Sends a signal: to the oldest wait, or, if no node waits, to the first wait that begins before the signal expires. */
import { type RunAddress, type RunId, type Scope, type SignalId, type SignalKey, signalId } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { TerminalStatus } from '../../engine/log/head.ts';
import { type DurationMs, after, days, durationMs, instant } from '../../engine/time.ts';
import type { Reservation } from '../../ports/control.ts';
import type { NewSignal, SignalsAtKey } from '../../ports/coordination.ts';
import type { Decider } from '../decider.ts';
import { findWait } from '../commit/match-signals.ts';
import { matchSignals, storeForWait } from '../commit/register-waits.ts';

export interface SignalRequest {
  readonly name: string;
  readonly payload: JsonValue;
  /** the sender's id of the signal; a repeated request with the same id is the same signal */
  readonly signalId?: SignalId;
  /** the request's idempotency key, with the same effect */
  readonly idempotencyKey?: string;
  /** SHA-256, in hex, of the caller's request */
  readonly bodyHash: string;
  /** how long the signal is buffered for a future wait */
  readonly expiresIn?: DurationMs;
  /** endpoint of the key; absent: `POST /v1/signals` */
  readonly endpoint?: string;
  /** how long the key is stored; absent: the setting's value */
  readonly idempotencyTtlMs?: DurationMs;
}

export type SendSignalResult =
  | {
      readonly kind: 'sent';
      readonly signalId: SignalId;
      /** true if a wait received the signal; false if it is buffered */
      readonly isDelivered: boolean;
      /** the run that received it at once; none if the signal is buffered. A repeated send gets the runs of the first one. */
      readonly runIds: readonly RunId[];
      readonly isReplay: boolean;
    }
  | { readonly kind: 'idempotency_conflict' };

export type SendToRunResult =
  | SendSignalResult
  | { readonly kind: 'not_found' }
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

/** Buffering time if the sender sets none. */
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
  const [reserved, wait] = await Promise.all([reserve(decider, scope, request), findWait(decider, signalKey)]);
  if (reserved === undefined) return { kind: 'idempotency_conflict' };
  const { reservation, isReplay } = reserved;
  // The id follows from the reservation, so that a repeated request stores the same signal.
  const id = request.signalId ?? signalId(reservation.runId.replace(/^wrun/, 'sig'));
  const { reservedAt: receivedAt } = reservation;
  const keyTtl = durationMs(Math.max(expiresIn, keyTtlOf(decider, request)) + days(1));
  const signal: NewSignal = {
    signalId: id,
    payload,
    receivedAt,
    bufferedUntil: after(receivedAt, expiresIn),
    retainUntil: after(receivedAt, keyTtl),
  };
  const delivered = wait === undefined || isReplay ? undefined : await storeForWait(decider, signalKey, signal, wait);
  const { signals } = delivered ?? (await storeAndMatch(decider, signalKey, signal));
  const receivers = signals.flatMap((signal) => (signal.signalId === id && signal.state === 'taken' ? [signal.by] : []));
  const isTaken = receivers.length > 0;
  // A repeatable request gets the same response each time, even if the signal was delivered since.
  const isDelivered = keysOf(request).length === 0 ? isTaken : await deps.signals.recordDelivery(signalKey, id, isTaken);
  return { kind: 'sent', signalId: id, isDelivered, runIds: isDelivered ? receivers : [], isReplay };
}

async function storeAndMatch(decider: Decider, signalKey: SignalKey, signal: NewSignal): Promise<SignalsAtKey> {
  await decider.deps.signals.store(signalKey, signal);
  return matchSignals(decider, signalKey);
}

/** Sends a signal to a wait of this run that has no correlation of its own. */
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

/** Reserves the keys of the request; undefined if one of them belongs to another signal. Without keys nothing is written. */
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
  for (const key of keysOf(request)) {
    const reserved = await deps.reservations.reserve(scope, endpoint, key, reservation, terms);
    if (reserved.kind === 'reserved') reservedKeys.push(key);
    else if (reserved.by.bodyHash === request.bodyHash) reservation = reserved.by;
    else {
      // Nothing was written for the reserved keys, so they are released.
      for (const reservedKey of reservedKeys) await deps.reservations.release(scope, endpoint, reservedKey, proposed.owner);
      return undefined;
    }
  }
  return { reservation, isReplay: reservation !== proposed };
}
