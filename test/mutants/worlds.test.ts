/**
 * Some simulations, for mutants of the engine that survive all other tests. A mutant that survives these is equivalent to the
 * engine, or shows a gap in the checker.
 */
import { describe, it } from 'vitest';
import { corpus } from '../simulation/corpus.ts';
import { crashRun } from '../simulation/crash-run.ts';
import { noFaults } from '../simulation/faults.ts';
import { seeds } from '../simulation/seeds.ts';
import { simulate } from '../simulation/simulation.ts';
import { optionsOfSeed } from '../simulation/options-of-seed.ts';

describe('a world holds', () => {
  it.each(seeds(4))('of code, with nothing that goes wrong: seed %i', async (seed) => {
    await simulate({ seed, rates: noFaults, runs: 4, code: 1 });
  });

  it.each(seeds(4))('of graphs, with nothing that goes wrong: seed %i', async (seed) => {
    await simulate({ seed, rates: noFaults, runs: 4, code: 0 });
  });

  it.each(seeds(16))('with all faults: seed %i', async (seed) => {
    await simulate(optionsOfSeed(seed));
  });
});

describe('a workflow of code comes to its end', () => {
  it.each(corpus['workflows of code'] ?? [])('$name', async (fixed) => {
    await crashRun(fixed);
  });
});
