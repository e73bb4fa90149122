/** Each kept seed holds, in the world that it was found in. */
import { expect, it } from 'vitest';
import { keptSeeds, worldOf } from './kept-seeds.ts';
import { simulate } from './simulation.ts';

it('there are some', () => expect(keptSeeds.length).toBeGreaterThan(1));

it.each(keptSeeds.map((kept) => [kept.seed, kept.weather, kept.found, kept] as const))(
  'seed %i in %s weather: %s',
  async (_seed, _weather, _found, kept) => {
    const { commits } = await simulate(worldOf(kept));
    expect(commits).toBeGreaterThan(0);
  },
);
