/** Seeds that found something once, and what it was. They stay. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const folder = join(import.meta.dirname, 'seeds');
const keptSeed = z.strictObject({
  seed: z.number(),
  weather: z.enum(['calm', 'rough']),
  found: z.string().min(20),
  runs: z.number().optional(),
  code: z.number().optional(),
});

export const keptSeeds = readdirSync(folder)
  .toSorted()
  .map((file) => keptSeed.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))));
