/** The faults a simulation injects, each with its own rate and its own counter. */
import type { Prng } from './prng.ts';

export interface FaultRates {
  /** the process dies before the call has any effect */
  readonly crashBefore: number;
  /** the process dies after the effect and before it learns of it */
  readonly crashAfter: number;
  /** the world does not answer, and nothing happened */
  readonly refused: number;
  /** the world does not answer, and it happened all the same */
  readonly lostAnswer: number;
  /** the request lands up to 20 s late */
  readonly slow: number;
  /** a read misses a commit that a later one follows */
  readonly torn: number;
  /** a message is delivered twice at once */
  readonly duplicate: number;
  /** a timer never fires */
  readonly lostTimer: number;
}

export type FaultKind = keyof FaultRates;

export const noFaults: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  refused: 0,
  lostAnswer: 0,
  slow: 0,
  torn: 0,
  duplicate: 0,
  lostTimer: 0,
};

export const roughWeather: FaultRates = {
  crashBefore: 0.01,
  crashAfter: 0.01,
  refused: 0.02,
  lostAnswer: 0.02,
  slow: 0.01,
  torn: 0.1,
  duplicate: 0.05,
  lostTimer: 0.2,
};

/** Decides what goes wrong, and counts it. A crash can also be aimed at one port call of the whole simulation. */
export class Faults {
  readonly counts: Record<FaultKind, number> = { ...noFaults };
  /** port calls so far: the index a crash can be aimed at */
  calls = 0;
  readonly #rates: FaultRates;
  readonly #prng: Prng;
  readonly #aim: { readonly call: number; readonly kind: 'crashBefore' | 'crashAfter' } | undefined;

  constructor(rates: FaultRates, prng: Prng, aim?: { call: number; kind: 'crashBefore' | 'crashAfter' }) {
    this.#rates = rates;
    this.#prng = prng;
    this.#aim = aim;
  }

  strikes(kind: FaultKind): boolean {
    const isAimed = this.#aim?.kind === kind && this.#aim.call === this.calls;
    if (!isAimed && !this.#prng.isLucky(this.#rates[kind])) return false;
    this.counts[kind] += 1;
    return true;
  }
}
