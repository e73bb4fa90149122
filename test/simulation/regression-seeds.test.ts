/** Each seed that once found a bug passes with its recorded options: the slow ones in the deep tier, the others in the quick one. */
import { expect, it } from 'vitest';
import { inTier } from '../tier.ts';
import { regressionSeeds, optionsOfRegressionSeed } from './regression-seeds.ts';
import { simulate } from './simulation.ts';

const areSlow = inTier({ quick: false, deep: true });
const ofTier = regressionSeeds.filter(({ isSlow = false }) => isSlow === areSlow);

it('there is more than one', () => expect(ofTier.length).toBeGreaterThan(1));

it.each(ofTier.map((kept) => [kept.seed, kept.faultProfile, kept.found, kept] as const))(
  'seed %i with faults %s passes: %s',
  async (_seed, _weather, _found, kept) => {
    const { commits } = await simulate(optionsOfRegressionSeed(kept));
    expect(commits).toBeGreaterThan(0);
  },
);
