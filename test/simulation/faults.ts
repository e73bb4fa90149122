/** The faults that a simulation injects, each with its own rate and counter. */
import type { Prng } from './prng.ts';

export interface FaultRates {
  /** the process dies before the call has any effect */
  readonly crashBefore: number;
  /** the process dies after the effect and before it learns of it */
  readonly crashAfter: number;
  /** a request fails and has no effect */
  readonly refused: number;
  /** a store refuses all requests for up to four seconds */
  readonly throttled: number;
  /** a request takes effect and its response is lost */
  readonly lostAnswer: number;
  /** the request lands up to 20 s late */
  readonly slow: number;
  /** a process pauses for up to 20 minutes and then continues */
  readonly frozen: number;
  /** a process whose clock is wrong from its start */
  readonly wrongClock: number;
  /** the clock of a process at work jumps */
  readonly clockJump: number;
  /** a read misses a commit that a later one follows */
  readonly torn: number;
  /** a listing is answered as it was a while ago */
  readonly stale: number;
  /** a message is delivered twice at once */
  readonly duplicate: number;
  /** a message is delayed by up to two minutes */
  readonly late: number;
  /** a message comes behind the next one that its queue is sent */
  readonly reordered: number;
  /** of several messages that are sent together only some arrive */
  readonly partlySent: number;
  /** the receiver of a message crashes before its first call */
  readonly lostDelivery: number;
  /** what a message asked for is done, and its deletion fails: it comes back */
  readonly undeleted: number;
  /** a dead letter is put back into its queue by its operator */
  readonly redriven: number;
  /** of a batch the first messages are taken, and the others come back */
  readonly partlyFailed: number;
  /** a batch queue has no receiver for up to half a minute; its messages are then received together */
  readonly stood: number;
  /** a timer never fires */
  readonly lostTimer: number;
  readonly earlyTimer: number;
  readonly lateTimer: number;
  readonly doubleTimer: number;
  /** the functions are deployed again: all warm environments end, and running processes continue beside the new ones */
  readonly deployed: number;
  /** a client that heard nothing, or did, asks again without its key */
  readonly keyless: number;
  /** a client that was answered asks again with its key */
  readonly askedAgain: number;
  /** a client that was answered asks for something else with the same key */
  readonly keyReused: number;
  /** a client cancels its run, at any moment, until it is answered */
  readonly cancelled: number;
}

export type FaultKind = keyof FaultRates;

/** What clients may ask for, and nothing goes wrong by. */
const harmless: ReadonlySet<string> = new Set<FaultKind>(['cancelled']);

export const isHarmless = (kind: string): boolean => harmless.has(kind);

/** Faults of queues between a send and its delivery: no process and no store is affected. */
const ofMessages: ReadonlySet<string> = new Set<FaultKind>(['duplicate', 'late', 'reordered']);

export const hasOnlyMessageFaults = (rates: FaultRates): boolean =>
  Object.entries(rates).every(([kind, rate]) => rate === 0 || isHarmless(kind) || ofMessages.has(kind));

export const noFaults: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  refused: 0,
  throttled: 0,
  lostAnswer: 0,
  slow: 0,
  frozen: 0,
  wrongClock: 0,
  clockJump: 0,
  torn: 0,
  stale: 0,
  duplicate: 0,
  late: 0,
  reordered: 0,
  partlySent: 0,
  lostDelivery: 0,
  undeleted: 0,
  redriven: 0,
  partlyFailed: 0,
  stood: 0,
  lostTimer: 0,
  earlyTimer: 0,
  lateTimer: 0,
  doubleTimer: 0,
  deployed: 0,
  keyless: 0,
  askedAgain: 0,
  keyReused: 0,
  cancelled: 0.15,
};

export const chaosFaults: FaultRates = {
  crashBefore: 0.01,
  crashAfter: 0.01,
  refused: 0.02,
  throttled: 0.002,
  lostAnswer: 0.02,
  slow: 0.01,
  frozen: 0.001,
  wrongClock: 0.05,
  clockJump: 0.002,
  torn: 0.1,
  stale: 0.3,
  duplicate: 0.05,
  late: 0.02,
  reordered: 0.03,
  partlySent: 0.5,
  lostDelivery: 0.02,
  undeleted: 0.03,
  redriven: 0.5,
  partlyFailed: 0.3,
  stood: 0.5,
  lostTimer: 0.3,
  earlyTimer: 0.1,
  lateTimer: 0.1,
  doubleTimer: 0.1,
  deployed: 0.02,
  keyless: 0.1,
  askedAgain: 0.1,
  keyReused: 0.1,
  cancelled: 0.15,
};

/** Longer than the retries of a put. */
const longestThrottleMs = 4_000;

/** Decides what goes wrong, and counts what did. A crash can also be aimed at port calls of the whole simulation, by their number. */
export class Faults {
  readonly counts: Record<FaultKind, number> = { ...noFaults, cancelled: 0 };
  /** port calls so far: the index a crash can be aimed at */
  calls = 0;
  readonly #rates: FaultRates;
  readonly #prng: Prng;
  readonly #crashPoints: readonly CrashPoint[];
  /** names of port calls, for callers that need them */
  readonly #onCall: ((name: string) => void) | undefined;
  readonly #throttledUntil = new Map<string, number>();
  /** is called when an aimed crash strikes */
  onCrashPoint: () => void = () => {};

  constructor(rates: FaultRates, prng: Prng, crashPoints: readonly CrashPoint[] = [], onCall?: (name: string) => void) {
    this.#rates = rates;
    this.#prng = prng;
    this.#crashPoints = crashPoints;
    this.#onCall = onCall;
  }

  get hasCrashPoints(): boolean {
    return this.#crashPoints.length > 0;
  }

  called(name: string): void {
    this.calls += 1;
    this.#onCall?.(name);
  }

  shouldInject(kind: FaultKind): boolean {
    const isScheduled = this.isScheduled(kind);
    if (isScheduled) this.recordInjected(kind);
    return isScheduled;
  }

  /** Whether it is to strike later, if then there is still anything that it can strike. */
  isScheduled(kind: FaultKind): boolean {
    const isAimed = this.#crashPoints.some((aim) => aim.kind === kind && aim.call === this.calls);
    if (isAimed) this.onCrashPoint();
    return isAimed || this.#prng.isLucky(this.#rates[kind]);
  }

  recordInjected(kind: FaultKind): void {
    this.counts[kind] += 1;
  }

  /** A store that refuses for being asked too much refuses all that it is asked for a while. */
  throttles(store: string, now: number): boolean {
    if (now < (this.#throttledUntil.get(store) ?? 0)) {
      this.recordInjected('throttled');
      return true;
    }
    if (!this.shouldInject('throttled')) return false;
    this.#throttledUntil.set(store, now + this.#prng.whole(100, longestThrottleMs));
    return true;
  }
}

/** A crash at the port call of this number, from 1. */
export interface CrashPoint {
  readonly call: number;
  readonly kind: 'crashBefore' | 'crashAfter';
}
