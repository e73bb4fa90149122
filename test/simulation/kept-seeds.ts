/** Seeds that found something once, each with the world that it found it in, and what it was. They stay. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { noFaults, roughWeather } from './faults.ts';
import type { SimulationOptions } from './simulation.ts';

const folder = join(import.meta.dirname, 'seeds');

const keptSeed = z.strictObject({
  seed: z.number(),
  weather: z.enum(['calm', 'rough']),
  found: z.string().min(20),
  /** how the world differs from one that nothing is said of */
  runs: z.number().exactOptional(),
  code: z.number().exactOptional(),
  isShared: z.boolean().exactOptional(),
  isBrisk: z.boolean().exactOptional(),
  poison: z.number().exactOptional(),
  withoutSweep: z.boolean().exactOptional(),
  cancelsCalled: z.boolean().exactOptional(),
  limits: z
    .strictObject({
      maxConcurrentRuns: z.number().exactOptional(),
      budget: z
        .strictObject({ maxNodeExecutions: z.number().exactOptional(), maxTokens: z.number().exactOptional() })
        .exactOptional(),
    })
    .exactOptional(),
});
export type KeptSeed = z.infer<typeof keptSeed>;

/** @param file its name in the folder */
export const keptSeedIn = (file: string): KeptSeed => keptSeed.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));

export const keptSeeds: readonly KeptSeed[] = readdirSync(folder).toSorted().map(keptSeedIn);

/** The very world that it was found in. */
export const worldOf = ({ weather, found: _found, ...world }: KeptSeed): SimulationOptions => ({
  ...world,
  rates: weather === 'calm' ? noFaults : roughWeather,
});
