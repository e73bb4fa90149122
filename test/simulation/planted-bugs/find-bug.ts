/** Looks for a planted bug in a thread of its own, so that nothing else is loaded with it. */
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import type { PlantedBug } from './bug.ts';

export type Found =
  | { readonly kind: 'caught'; readonly seed: number; /** the rule that does not hold */ readonly by: string }
  | { readonly kind: 'survived'; readonly seed: number }
  /** the simulation itself fell over it, which shows nothing */
  | { readonly kind: 'broke'; readonly seed: number; readonly by: string };

/** No search takes this long that finds anything: what is planted goes round in circles. */
const longestMs = 600_000;

/** `isWhole`: with the bug itself, and not only with the other strings cut */
export const taskSchema = z.strictObject({ name: z.string(), isWhole: z.boolean() });

export async function findBug({ name }: PlantedBug, isWhole = true): Promise<Found> {
  const thread = new Worker(new URL('./bug-thread.ts', import.meta.url), {
    workerData: { name, isWhole } satisfies z.infer<typeof taskSchema>,
  });
  const { promise, resolve } = Promise.withResolvers<Found>();
  const broke = (by: string): void => resolve({ kind: 'broke', seed: 0, by });
  const tooLong = setTimeout(() => broke('it goes round in circles'), longestMs);
  thread.once('message', (found: Found) => resolve(found));
  thread.once('error', (trouble) => broke(trouble instanceof Error ? (trouble.stack ?? trouble.message) : String(trouble)));
  thread.once('exit', () => broke('its thread ended'));
  try {
    return await promise;
  } finally {
    clearTimeout(tooLong);
    await thread.terminate();
  }
}
