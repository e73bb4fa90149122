/** What runs wait for: signals, and the concurrency slots of a workflow. */
import type { SlotPoolKey, TakenSlot, WaitingRun } from '../engine/concurrency-slots.ts';
import type { Attempt, CommitNo, IterationKey, NodeId, RunId, SignalId, SignalKey } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

/** An attempt that waits for a signal. Its fields identify the wait uniquely. */
export interface Waiter {
  readonly runId: RunId;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  readonly since: Instant;
}

/** A waiter as it was registered. */
export interface RegisteredWaiter extends Waiter {
  /** the commit that began the wait; absent if an earlier version registered it */
  readonly beganIn?: CommitNo;
}

/** A `taken` signal is retained for a while, so that a repeated send finds it. */
type ClaimState =
  | { readonly state: 'free' }
  /** claimed for this waiter; the log of the waiter's run says whether it received the signal */
  | { readonly state: 'claimed'; readonly by: Waiter }
  /** the run that received it */
  | { readonly state: 'taken'; readonly by: RunId };

export type StoredSignal = ClaimState & {
  readonly signalId: SignalId;
  readonly receivedAt: Instant;
  /** until then a wait that begins later can receive it */
  readonly bufferedUntil: Instant;
  /** absent if it is larger than `maxPayloadBesideSignal`: then it is read by itself */
  readonly payload?: JsonValue;
};

/**
 * Bytes of a payload, as JSON, up to which it is a part of its signal. With it, a claimed signal still fits a write unit, and the
 * signals of a key stay cheap to read.
 */
const maxPayloadBesideSignal = 512;
export const isBesideSignal = (payload: JsonValue): boolean =>
  Buffer.byteLength(JSON.stringify(payload)) <= maxPayloadBesideSignal;

export interface NewSignal {
  readonly signalId: SignalId;
  readonly payload: JsonValue;
  readonly receivedAt: Instant;
  readonly bufferedUntil: Instant;
  /** the earliest time at which the record may expire */
  readonly retainUntil: Instant;
}

/** Such a read, with the one item more that it notices, costs at most 17 read units if no item exceeds a write unit. */
export const fewSignals = 64;

export interface SignalsAtKey {
  /** the longest waiting first */
  readonly waiters: readonly RegisteredWaiter[];
  /** in order of arrival */
  readonly signals: readonly StoredSignal[];
}

/**
 * Stores signals and waiters under signal keys, so that they can be matched. The source of truth about a wait is the log
 * of its run. Each side reads after it has written, strongly consistent, so at least one of the two sees the other.
 */
export interface Signals {
  /** All signals and waiters of the key. Strongly consistent: includes every earlier write. */
  read(key: SignalKey): Promise<SignalsAtKey>;
  /** The same; undefined if the key has more than `fewSignals` signals and waiters together. The cost is bounded, that of `read` is not. */
  readIfFew(key: SignalKey): Promise<SignalsAtKey | undefined>;
  /**
   * Stores a free signal. If its id is stored already, only its expiry moves, to `retainUntil` if that is later: the sender may repeat the
   * signal for as long as its run is open.
   */
  store(key: SignalKey, signal: NewSignal): Promise<void>;
  /** Stores a signal that this waiter has claimed from the beginning. False if its id is stored already, and then nothing changes. */
  storeClaimed(key: SignalKey, signal: NewSignal, waiter: Waiter): Promise<boolean>;
  /** The payload that is stored by itself; undefined if it is a part of the signal, or has expired. */
  payload(key: SignalKey, id: SignalId): Promise<JsonValue | undefined>;
  /** Adds a waiter. Idempotent. */
  addWaiter(key: SignalKey, waiter: RegisteredWaiter, retainUntil: Instant): Promise<void>;
  removeWaiter(key: SignalKey, waiter: Waiter): Promise<void>;

  /** Claims a free signal for this waiter; false if the signal is not free. */
  claim(key: SignalKey, id: SignalId, waiter: Waiter): Promise<boolean>;
  /** Frees the signal if this waiter has claimed it. */
  release(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void>;
  /** Records that the waiter that claimed the signal has received it. */
  markTaken(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void>;

  /** Records whether the signal was delivered. Returns the value of the first call, so that a repeated send gets the same response. */
  recordDelivery(key: SignalKey, id: SignalId, isDelivered: boolean): Promise<boolean>;
}

/**
 * Concurrency slots of workflows with a limit on concurrent runs: which runs hold a slot, and which wait for one. Every read
 * is strongly consistent.
 */
export interface ConcurrencySlots {
  taken(pool: SlotPoolKey): Promise<readonly TakenSlot[]>;
  /** Takes the slot if it is free. True if the run holds it now, also if it held it before. */
  acquire(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<boolean>;
  /** Moves the expiry of the slot if this run holds it. */
  extend(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<void>;
  /** Frees the slot if this run still holds it. */
  release(pool: SlotPoolKey, slot: number, runId: RunId): Promise<void>;
  /** The runs that wait for a slot, in the order in which they are admitted. */
  waiting(pool: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]>;
  /** Adds the run to the waiting runs. Idempotent. */
  enqueue(pool: SlotPoolKey, run: WaitingRun, expiresAt: Instant): Promise<void>;
  dequeue(pool: SlotPoolKey, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void>;
}

export interface CoordinationPorts {
  readonly signals: Signals;
  readonly concurrencySlots: ConcurrencySlots;
}
