/**
 * The meeting place of signals and waits. The truth about a wait is the log of its run: what lies here only lets the two
 * sides find each other. Each side writes first and reads second, strongly, so that one of the two always sees the other.
 */
import type { Attempt, IterationKey, NodeId, RunId, SignalId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { SignalPlace } from '../engine/signal.ts';
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
type Taking =
  | { readonly state: 'free' }
  /** meant for this waiter; its log says whether it has it */
  | { readonly state: 'claimed'; readonly by: Waiter }
  | { readonly state: 'taken' };

export type KeptSignal = Taking & {
  readonly signalId: SignalId;
  readonly receivedAt: Instant;
  /** until when it is there for a wait that has not begun */
  readonly keptUntil: Instant;
};

export interface NewSignal {
  readonly signalId: SignalId;
  readonly payload: JsonValue;
  readonly receivedAt: Instant;
  readonly keptUntil: Instant;
  /** when nobody can ask for it any more, at the earliest */
  readonly forgetAt: Instant;
}

export interface Meeting {
  /** the one that has waited longest first */
  readonly waiters: readonly Waiter[];
  /** the one that came first first */
  readonly signals: readonly KeptSignal[];
}

export interface Signals {
  /** Everything at the place, read strongly. What was written before this was asked is in it. */
  at(place: SignalPlace): Promise<Meeting>;
  /** Keeps a signal free, unless one of its id is there already: then nothing changes. */
  keep(place: SignalPlace, signal: NewSignal): Promise<void>;
  /** What the signal brings; undefined where it is gone. */
  payload(place: SignalPlace, id: SignalId): Promise<JsonValue | undefined>;
  /** Enters a waiter; twice is once. */
  enter(place: SignalPlace, waiter: Waiter, forgetAt: Instant): Promise<void>;
  leave(place: SignalPlace, waiter: Waiter): Promise<void>;

  /** Means a free signal for this waiter; false where it is not free. */
  claim(place: SignalPlace, id: SignalId, waiter: Waiter): Promise<boolean>;
  /** Makes a signal free again that is meant for this waiter, and only then. */
  release(place: SignalPlace, id: SignalId, waiter: Waiter): Promise<void>;
  /** Notes that this waiter, for whom it was meant, has it. */
  take(place: SignalPlace, id: SignalId, waiter: Waiter): Promise<void>;

  /** What a sending was answered, which the first time decides. */
  answer(place: SignalPlace, id: SignalId, isDelivered: boolean): Promise<boolean>;
}
