/** Seeds that found something once, and what it was. They stay. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { noFaults, roughWeather } from './faults.ts';
import { simulate } from './simulation.ts';

const folder = join(import.meta.dirname, 'seeds');
const keptSeed = z.strictObject({
  seed: z.number(),
  weather: z.enum(['calm', 'rough']),
  found: z.string().min(20),
  runs: z.number().optional(),
  code: z.number().optional(),
});
const kept = readdirSync(folder).map((file) => keptSeed.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))));

it('there are some', () => expect(kept.length).toBeGreaterThan(1));

it.each(kept.map(({ seed, weather, found, ...mix }) => [seed, weather, found, mix] as const))(
  'seed %i in %s weather: %s',
  async (seed, weather, _found, { runs = 3, code = 0.4 }) => {
    const { commits } = await simulate({ seed, rates: weather === 'calm' ? noFaults : roughWeather, runs, code });
    expect(commits).toBeGreaterThan(0);
  },
);
