/**
 * The world that a number stands for where many are run. Those of CI are plain; behind them every fifth has what a plain one never
 * meets, and what CI looks at by itself in fewer worlds (`places.test.ts`, `simulation.test.ts`).
 */
import { noFaults, roughWeather } from './faults.ts';
import { sharesOf } from '../../lib/engine/shares.ts';
import type { SimulationOptions } from './simulation.ts';

/** As many as CI runs. */
export const plainSeeds = 5_000;
const plainOnes = 4;

/** By the share of each among those that are not plain: a row of them is passed through again and again. */
const others: readonly ((turn: number) => Omit<SimulationOptions, 'seed'>)[] = [
  (turn) => ({ rates: roughWeather, runs: 5, code: 0, isShared: true, limits: { maxConcurrentRuns: 1 + (turn % 3) } }),
  (turn) => ({ rates: roughWeather, runs: 4, code: 0, limits: { budget: { maxNodeExecutions: 1 + (turn % 12) } } }),
  () => ({ rates: roughWeather, runs: 4, code: 0.7, cancelsCalled: true }),
  (turn) => ({ rates: roughWeather, runs: 4, code: 0, limits: { budget: { maxTokens: 5 + (turn % 30) } } }),
  // The judges are stricter where nothing goes wrong.
  () => ({ rates: noFaults, runs: 8 }),
];

export function worldOfSeed(seed: number): SimulationOptions {
  const turn = Math.floor(seed / (plainOnes + 1));
  const other = seed > plainSeeds && seed % (plainOnes + 1) === 0 ? others[turn % others.length] : undefined;
  return { seed, ...(other?.(Math.floor(turn / others.length)) ?? { rates: roughWeather }) };
}

/**
 * `drawn`: what the seed stands for. `calm`: nothing goes wrong. `poison`: nothing but that a part of all nodes and steps kill the
 * worker that begins them. `storm`: nothing but that every process dies again and again, for some minutes. `parts`: runs of code, whose
 * turns are written in one commit for each entry, in rough weather. `slow`: many attempts spend their first slices, in rough weather and,
 * every third time, in calm; every other world bounds what a project may take.
 */
export const worldKinds = ['drawn', 'calm', 'poison', 'storm', 'parts', 'slow'] as const;
export type WorldKind = (typeof worldKinds)[number];

/** The share of nodes and steps that kill their workers: most worlds have some, and most runs still come to their ends otherwise. */
const poison = 0.15;

export function worldOfKind(kind: WorldKind, seed: number): SimulationOptions {
  switch (kind) {
    case 'drawn':
      return worldOfSeed(seed);
    case 'calm':
      return { seed, rates: noFaults };
    case 'poison':
      return { seed, rates: noFaults, poison };
    case 'storm':
      return { seed, rates: noFaults, isStormy: true };
    case 'parts':
      return { seed, rates: roughWeather, code: 1, bytesInPart: 1 };
    case 'slow':
      return {
        seed,
        rates: seed % 3 === 0 ? noFaults : roughWeather,
        code: 0.1,
        slowScripts: 0.4,
        shares: seed % 2 === 0 ? sharesOf(10, 100) : sharesOf(40, 50),
      };
  }
}
