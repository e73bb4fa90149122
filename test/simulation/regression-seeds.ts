/** Seeds that once found a bug, with the options of their simulations and a description of the bug. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { noFaults, chaosFaults } from './faults.ts';
import type { SimulationOptions } from './simulation.ts';

const folder = join(import.meta.dirname, 'seeds');

const regressionSeedSchema = z.strictObject({
  seed: z.number(),
  faultProfile: z.enum(['none', 'chaos']),
  found: z.string().min(20),
  /** takes seconds: only the deep tier runs it */
  isSlow: z.literal(true).exactOptional(),
  /** options that differ from the defaults */
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
export type RegressionSeed = z.infer<typeof regressionSeedSchema>;

/** @param file the file name in the folder */
export const readRegressionSeed = (file: string): RegressionSeed =>
  regressionSeedSchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));

export const regressionSeeds: readonly RegressionSeed[] = readdirSync(folder).toSorted().map(readRegressionSeed);

/** The options of the simulation that found the bug. */
export const optionsOfRegressionSeed = ({
  faultProfile,
  found: _found,
  isSlow: _isSlow,
  ...world
}: RegressionSeed): SimulationOptions => ({
  ...world,
  rates: faultProfile === 'none' ? noFaults : chaosFaults,
});
