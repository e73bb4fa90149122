/** Looks for a planted bug in a process of its own, so that nothing else is loaded with it, and what falls there falls alone. */
import { fork } from 'node:child_process';
import * as z from 'zod';
import type { PlantedBug } from './bug.ts';

const foundSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('caught'), seed: z.number(), /** the rule that does not hold */ by: z.string() }),
  z.strictObject({ kind: z.literal('survived'), seed: z.number() }),
  /** the simulation itself fell over it, which shows nothing */
  z.strictObject({ kind: z.literal('broke'), seed: z.number(), by: z.string() }),
]);
export type Found = z.infer<typeof foundSchema>;

/** No search takes this long that finds anything: what is planted goes round in circles. */
const longestMs = 600_000;

/** The bug and what is cut with it; only what is cut with it; or the sources as they are. */
const plantedSchema = z.enum(['whole', 'besides', 'nothing']);
export type Planted = z.infer<typeof plantedSchema>;

/** What the process is told, as its only argument. */
export const taskSchema = z.strictObject({ name: z.string(), planted: plantedSchema, from: z.number(), to: z.number() });

/** What is planted, and the first and the last seed. */
type Search = Partial<Omit<z.infer<typeof taskSchema>, 'name'>>;

export async function findBug(
  { name, within }: PlantedBug,
  { planted = 'whole', from = 1, to = within }: Search = {},
): Promise<Found> {
  const task = JSON.stringify({ name, planted, from, to } satisfies z.infer<typeof taskSchema>);
  const process = fork(new URL('./bug-process.ts', import.meta.url), [task], { execArgv: [] });
  const { promise, resolve } = Promise.withResolvers<Found>();
  const broke = (by: string): void => resolve({ kind: 'broke', seed: 0, by });
  const tooLong = setTimeout(() => broke('it goes round in circles'), longestMs);
  process.once('message', (message) => resolve(foundSchema.parse(message)));
  process.once('error', ({ message }) => broke(message));
  process.once('exit', (code, signal) => broke(`its process ended with ${signal ?? code}`));
  try {
    return await promise;
  } finally {
    clearTimeout(tooLong);
    process.kill('SIGKILL');
  }
}
