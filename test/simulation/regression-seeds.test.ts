/** Each seed that once found a bug passes with its recorded options. */
import { expect, it } from 'vitest';
import { regressionSeeds, optionsOfRegressionSeed } from './regression-seeds.ts';
import { simulate } from './simulation.ts';

it('there is more than one', () => expect(regressionSeeds.length).toBeGreaterThan(1));

it.each(regressionSeeds.map((kept) => [kept.seed, kept.faultProfile, kept.found, kept] as const))(
  'seed %i with faults %s passes: %s',
  async (_seed, _weather, _found, kept) => {
    const { commits } = await simulate(optionsOfRegressionSeed(kept));
    expect(commits).toBeGreaterThan(0);
  },
);
