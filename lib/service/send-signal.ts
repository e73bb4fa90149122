/** Sends a signal: to the wait that has lasted longest, or, where nobody waits, to the first that begins while it is kept. */
import { type RunAddress, type Scope, type SignalId, signalId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { TerminalStatus } from '../engine/log/head.ts';
import { type DurationMs, after, days, durationMs, instant } from '../engine/time.ts';
import type { Reservation } from '../ports/control.ts';
import { type Decider, meeterOf } from './decide-run.ts';
import { meetSignals } from './meet-signals.ts';

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
  readonly rememberedMs?: DurationMs;
}

export type SendAnswer =
  | {
      readonly kind: 'sent';
      readonly signalId: SignalId;
      /** a wait has it; else it is kept */
      readonly isDelivered: boolean;
      readonly isReplay: boolean;
    }
  | { readonly kind: 'idempotency_conflict' };

export type SendToRunAnswer =
  | SendAnswer
  | { readonly kind: 'not_found' }
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

/** Where its sender does not say. */
export const keptByDefault = days(1);
const signalsEndpoint = 'POST /v1/signals';

export async function sendSignal(
  decider: Decider,
  scope: Scope,
  request: SignalRequest & { readonly correlation: string },
): Promise<SendAnswer> {
  const { deps } = decider;
  const { name, correlation, payload, expiresIn = keptByDefault } = request;
  const place = { projectId: scope.projectId, environment: scope.environment, name, correlation };
  const reserved = await reserve(decider, scope, request);
  if (reserved === undefined) return { kind: 'idempotency_conflict' };
  const { standing, isReplay } = reserved;
  // It follows from what stands, so that each repetition keeps the same signal; kept twice, it is there once.
  const id = request.signalId ?? signalId(standing.runId.replace(/^wrun/, 'sig'));
  const { reservedAt: receivedAt } = standing;
  const remembered = durationMs(Math.max(expiresIn, rememberedOf(decider, request)) + days(1));
  await deps.signals.keep(place, {
    signalId: id,
    payload,
    receivedAt,
    keptUntil: after(receivedAt, expiresIn),
    forgetAt: after(receivedAt, remembered),
  });
  const { signals } = await meetSignals(meeterOf(decider), place);
  const isTaken = signals.some((signal) => signal.signalId === id && signal.state === 'taken');
  // A sending that can be repeated is answered in the same way each time, whatever has become of the signal since.
  const isDelivered = namesOf(request).length === 0 ? isTaken : await deps.signals.answer(place, id, isTaken);
  return { kind: 'sent', signalId: id, isDelivered, isReplay };
}

/** Sends to whichever wait of this run names no correlation of its own. */
export async function sendToRun(decider: Decider, run: RunAddress, request: SignalRequest): Promise<SendToRunAnswer> {
  const head = await decider.deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const { status } = head.projection;
  if (status !== 'pending' && status !== 'running') return { kind: 'run_terminal', status };
  return sendSignal(decider, run, { ...request, correlation: run.runId });
}

const namesOf = ({ idempotencyKey, signalId: id }: SignalRequest): readonly string[] => [
  ...(idempotencyKey === undefined ? [] : [`key ${idempotencyKey}`]),
  ...(id === undefined ? [] : [`signal ${id}`]),
];

const rememberedOf = ({ deps }: Decider, { rememberedMs = deps.settings.idempotencyMs }: SignalRequest): DurationMs =>
  rememberedMs;

/** What stands under the names that the sender gave; undefined where it is another signal. Nothing is written of a sending without any. */
async function reserve(decider: Decider, scope: Scope, request: SignalRequest) {
  const { deps } = decider;
  const { endpoint = signalsEndpoint } = request;
  const now = deps.clock.now();
  const own: Reservation = {
    runId: deps.ids.runId(now),
    bodyHash: request.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const remembered = rememberedOf(decider, request);
  const terms = { notBefore: instant(now - remembered), expiresAt: after(now, remembered) };
  const made: string[] = [];
  let standing = own;
  for (const name of namesOf(request)) {
    const reserved = await deps.reservations.reserve(scope, endpoint, name, standing, terms);
    if (reserved.kind === 'reserved') made.push(name);
    else if (reserved.by.bodyHash === request.bodyHash) standing = reserved.by;
    else {
      // Nothing was tried under the names that were free.
      for (const free of made) await deps.reservations.release(scope, endpoint, free, own.owner);
      return undefined;
    }
  }
  return { standing, isReplay: standing !== own };
}
