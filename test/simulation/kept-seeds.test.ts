/** Each kept seed holds. */
import { expect, it } from 'vitest';
import { noFaults, roughWeather } from './faults.ts';
import { keptSeeds } from './kept-seeds.ts';
import { simulate } from './simulation.ts';

it('there are some', () => expect(keptSeeds.length).toBeGreaterThan(1));

it.each(keptSeeds.map(({ seed, weather, found, ...mix }) => [seed, weather, found, mix] as const))(
  'seed %i in %s weather: %s',
  async (seed, weather, _found, { runs = 3, code = 0.4 }) => {
    const { commits } = await simulate({ seed, rates: weather === 'calm' ? noFaults : roughWeather, runs, code });
    expect(commits).toBeGreaterThan(0);
  },
);
