/**
 * The meeting place of signals and waits. The truth about a wait is the log of its run: what lies here only lets the two
 * sides find each other. Each side writes first and reads second, strongly, so that one of the two always sees the other.
 */
import type { Attempt, IterationKey, NodeId, RunId, SignalId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { SignalKey } from '../engine/signal-key.ts';
import type { Instant } from '../engine/time.ts';

/** Which attempt of which node of which run waits: no wait comes twice. */
export interface Waiter {
  readonly runId: RunId;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  readonly since: Instant;
}

/** `taken` stays for a while, so that a sending that is repeated finds out. */
type ClaimState =
  | { readonly state: 'free' }
  /** meant for this waiter; its log says whether it has it */
  | { readonly state: 'claimed'; readonly by: Waiter }
  | { readonly state: 'taken' };

export type StoredSignal = ClaimState & {
  readonly signalId: SignalId;
  readonly receivedAt: Instant;
  /** until when it is there for a wait that has not begun */
  readonly bufferedUntil: Instant;
};

export interface NewSignal {
  readonly signalId: SignalId;
  readonly payload: JsonValue;
  readonly receivedAt: Instant;
  readonly bufferedUntil: Instant;
  /** when nobody can ask for it any more, at the earliest */
  readonly retainUntil: Instant;
}

export interface SignalsAtKey {
  /** the one that has waited longest first */
  readonly waiters: readonly Waiter[];
  /** the one that came first first */
  readonly signals: readonly StoredSignal[];
}

export interface Signals {
  /** Everything at the place, read strongly. What was written before this was asked is in it. */
  read(key: SignalKey): Promise<SignalsAtKey>;
  /** Keeps a signal free, unless one of its id is there already: then nothing changes. */
  store(key: SignalKey, signal: NewSignal): Promise<void>;
  /** What the signal brings; undefined where it is gone. */
  payload(key: SignalKey, id: SignalId): Promise<JsonValue | undefined>;
  /** Enters a waiter; twice is once. */
  addWaiter(key: SignalKey, waiter: Waiter, retainUntil: Instant): Promise<void>;
  removeWaiter(key: SignalKey, waiter: Waiter): Promise<void>;

  /** Means a free signal for this waiter; false where it is not free. */
  claim(key: SignalKey, id: SignalId, waiter: Waiter): Promise<boolean>;
  /** Makes a signal free again that is meant for this waiter, and only then. */
  release(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void>;
  /** Notes that this waiter, for whom it was meant, has it. */
  markTaken(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void>;

  /** What a sending was answered, which the first time decides. */
  recordDelivery(key: SignalKey, id: SignalId, isDelivered: boolean): Promise<boolean>;
}
