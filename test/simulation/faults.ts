/** The faults a simulation injects, each with its own rate and its own counter. */
import type { Prng } from './prng.ts';

export interface FaultRates {
  /** the process dies before the call has any effect */
  readonly crashBefore: number;
  /** the process dies after the effect and before it learns of it */
  readonly crashAfter: number;
  /** the world does not answer, and nothing happened: throttled, or not reached */
  readonly refused: number;
  /** the world does not answer, and it happened all the same */
  readonly lostAnswer: number;
  /** the request lands up to 20 s late */
  readonly slow: number;
  /** a process stands still for up to 20 minutes, and comes back as if nothing had been */
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
  /** a message is delayed by up to two minutes, and others overtake it */
  readonly late: number;
  /** of several messages that are sent together only some arrive */
  readonly partlySent: number;
  /** a message is given to somebody who dies before the first call */
  readonly lostDelivery: number;
  /** what a message asked for is done, and its deletion fails: it comes back */
  readonly undeleted: number;
  /** a dead letter is put back into its queue by its operator */
  readonly redriven: number;
  /** nobody takes from a queue that is read in batches, for up to half a minute: what lies there then is taken together */
  readonly stood: number;
  /** a timer never fires */
  readonly lostTimer: number;
  readonly earlyTimer: number;
  readonly lateTimer: number;
  readonly doubleTimer: number;
  /** the functions are deployed anew: no environment stays warm, and what is at work goes on beside the new ones */
  readonly deployed: number;
  /** a client that heard nothing asks again without its key */
  readonly keyless: number;
  /** a client that heard nothing, or did, asks again with its key */
  readonly askedAgain: number;
}

export type FaultKind = keyof FaultRates;

export const noFaults: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  refused: 0,
  lostAnswer: 0,
  slow: 0,
  frozen: 0,
  wrongClock: 0,
  clockJump: 0,
  torn: 0,
  stale: 0,
  duplicate: 0,
  late: 0,
  partlySent: 0,
  lostDelivery: 0,
  undeleted: 0,
  redriven: 0,
  stood: 0,
  lostTimer: 0,
  earlyTimer: 0,
  lateTimer: 0,
  doubleTimer: 0,
  deployed: 0,
  keyless: 0,
  askedAgain: 0,
};

export const roughWeather: FaultRates = {
  crashBefore: 0.01,
  crashAfter: 0.01,
  refused: 0.02,
  lostAnswer: 0.02,
  slow: 0.01,
  frozen: 0.001,
  wrongClock: 0.05,
  clockJump: 0.002,
  torn: 0.1,
  stale: 0.3,
  duplicate: 0.05,
  late: 0.02,
  partlySent: 0.5,
  lostDelivery: 0.02,
  undeleted: 0.03,
  redriven: 0.5,
  stood: 0.5,
  lostTimer: 0.2,
  earlyTimer: 0.1,
  lateTimer: 0.1,
  doubleTimer: 0.1,
  deployed: 0.02,
  keyless: 0.1,
  askedAgain: 0.1,
};

/** Decides what goes wrong, and counts it. A crash can also be aimed at port calls of the whole simulation, by their number. */
export class Faults {
  readonly counts: Record<FaultKind, number> = { ...noFaults };
  /** port calls so far: the index a crash can be aimed at */
  calls = 0;
  readonly #rates: FaultRates;
  readonly #prng: Prng;
  readonly #aims: readonly Aim[];
  /** names of port calls, where somebody wants to know them */
  readonly #onCall: ((name: string) => void) | undefined;
  /** is called when an aimed crash strikes */
  onAimed: () => void = () => {};

  constructor(rates: FaultRates, prng: Prng, aims: readonly Aim[] = [], onCall?: (name: string) => void) {
    this.#rates = rates;
    this.#prng = prng;
    this.#aims = aims;
    this.#onCall = onCall;
  }

  called(name: string): void {
    this.calls += 1;
    this.#onCall?.(name);
  }

  strikes(kind: FaultKind): boolean {
    const isAimed = this.#aims.some((aim) => aim.kind === kind && aim.call === this.calls);
    if (isAimed) this.onAimed();
    if (!isAimed && !this.#prng.isLucky(this.#rates[kind])) return false;
    this.counts[kind] += 1;
    return true;
  }
}

/** A crash at the port call of this number, from 1. */
export interface Aim {
  readonly call: number;
  readonly kind: 'crashBefore' | 'crashAfter';
}
