/**
 * The options of the simulation of a seed. The first seeds, which CI runs, have the default options. After them, every fifth
 * seed has options that the defaults never reach; CI tests those with fewer seeds (`concurrency-slots.test.ts`,
 * `simulation.test.ts`).
 */
import { noFaults, chaosFaults } from './faults.ts';
import { fairSharesOf } from '../../lib/engine/fair-shares.ts';
import type { SimulationOptions } from './simulation.ts';

/** The number of seeds that CI runs. */
export const plainSeeds = 5_000;
const plainOnes = 4;

/** Of the waits outside loops. Many of them are woken, or their run is cancelled. */
const longShare = 0.9;

/** By the share of each among those that are not plain: a row of them is passed through again and again. */
const others: readonly ((turn: number) => Omit<SimulationOptions, 'seed'>)[] = [
  (turn) => ({ rates: chaosFaults, runs: 5, code: 0, isShared: true, limits: { maxConcurrentRuns: 1 + (turn % 3) } }),
  (turn) => ({ rates: chaosFaults, runs: 4, code: 0, limits: { budget: { maxNodeExecutions: 1 + (turn % 12) } } }),
  () => ({ rates: chaosFaults, runs: 4, code: 0.7, cancelsCalled: true }),
  (turn) => ({ rates: chaosFaults, runs: 4, code: 0, limits: { budget: { maxTokens: 5 + (turn % 30) } } }),
  // One of three has no faults.
  (turn) => ({ rates: turn % 3 === 0 ? noFaults : chaosFaults, longWaits: longShare }),
  // The judges are stricter where nothing goes wrong.
  () => ({ rates: noFaults, runs: 8 }),
];

export function optionsOfSeed(seed: number): SimulationOptions {
  const turn = Math.floor(seed / (plainOnes + 1));
  const other = seed > plainSeeds && seed % (plainOnes + 1) === 0 ? others[turn % others.length] : undefined;
  return { seed, ...(other?.(Math.floor(turn / others.length)) ?? { rates: chaosFaults }) };
}

/**
 * `drawn`: the options of the seed. `calm`: no faults. `poison`: a part of all nodes and steps kills its worker; no other faults.
 * `storm`: all processes crash repeatedly for some minutes; no other faults. `parts`: code runs with one commit per entry of a command
 * batch, with all faults. `slow`: many attempts use up their first slice, two of three times with all faults; every second simulation
 * has project limits. `long`: waits that last longer than the default deadline, three of four times with all faults. `packs`: most nodes
 * are idempotent, in turn with all faults and with what else ends or moves an attempt. `waits`: most starts wait for their runs, three of
 * four times with all faults. `batches`: up to twelve runs start in batches, three of four times with all faults. `short`: chains
 * that one commit can end, in turn through a queue, in batches and with starts that wait, three of four times with all faults.
 */
export const simulationKinds = [
  'drawn',
  'calm',
  'poison',
  'storm',
  'parts',
  'slow',
  'long',
  'packs',
  'waits',
  'batches',
  'short',
] as const;
export type SimulationKind = (typeof simulationKinds)[number];

/** The share of nodes and steps that kill their workers: most simulations have some, and most runs still end for other reasons. */
const poison = 0.15;

/** What meets packs. A slice that is spent, a node that kills its worker, a long wait and a budget each end a pack in another way. */
const packMixes: readonly Omit<SimulationOptions, 'seed'>[] = [
  { rates: noFaults },
  { rates: chaosFaults },
  { rates: chaosFaults },
  { rates: chaosFaults, slowScripts: 0.3, shares: fairSharesOf(40, 50) },
  { rates: noFaults, poison: 0.1 },
  { rates: chaosFaults, longWaits: longShare },
  { rates: noFaults, isCrashStorm: true },
  { rates: chaosFaults, limits: { budget: { maxNodeExecutions: 9 } } },
];

export function optionsOfKind(kind: SimulationKind, seed: number): SimulationOptions {
  switch (kind) {
    case 'drawn':
      return optionsOfSeed(seed);
    case 'calm':
      return { seed, rates: noFaults };
    case 'poison':
      return { seed, rates: noFaults, poison };
    case 'storm':
      return { seed, rates: noFaults, isCrashStorm: true };
    case 'parts':
      return { seed, rates: chaosFaults, code: 1, maxPartBytes: 1 };
    case 'long':
      return { seed, rates: seed % 4 === 0 ? noFaults : chaosFaults, longWaits: longShare };
    case 'packs':
      return { seed, code: 0.3, idempotent: 0.8, ...(packMixes[seed % packMixes.length] ?? { rates: chaosFaults }) };
    case 'waits':
      return {
        seed,
        rates: seed % 4 === 0 ? noFaults : chaosFaults,
        code: 0.3,
        idempotent: seed % 2 === 0 ? 0.4 : 0.9,
        awaited: 0.8,
        // An end that is not published is recorded with the head.
        runEvents: seed % 3 === 0 ? 'ended' : 'failed',
      };
    case 'batches':
      return { seed, rates: seed % 4 === 0 ? noFaults : chaosFaults, runs: 4 + (seed % 9), code: 0.3, areBatched: true };
    case 'short':
      return {
        seed,
        rates: seed % 4 === 0 ? noFaults : chaosFaults,
        code: 0,
        runs: 6,
        idempotent: 1,
        areBatched: seed % 3 === 1,
        awaited: seed % 3 === 2 ? 0.5 : 0,
        // An end that is not published is recorded with the commit that ends the run.
        runEvents: seed % 5 === 0 ? 'ended' : 'failed',
      };
    case 'slow':
      return {
        seed,
        rates: seed % 3 === 0 ? noFaults : chaosFaults,
        code: 0.1,
        slowScripts: 0.4,
        shares: seed % 2 === 0 ? fairSharesOf(10, 100) : fairSharesOf(40, 50),
      };
  }
}
