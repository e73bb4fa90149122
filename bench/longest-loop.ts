/** Runs a loop of the maximum length on in-memory stores, with limited memory. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { isDeepStrictEqual } from 'node:util';

const items = 100_000;
const concurrency = 50;
/** Twice the memory that `test/service/long-loops.deep.test.ts` uses for a fifth of the length: at the end, all results are in memory. */
const megabytes = 96;

/** @returns seconds @throws if the run fails, or its results are out of order */
export async function runLongestLoop(): Promise<{
  readonly items: number;
  readonly megabytes: number;
  readonly seconds: number;
}> {
  const startedAt = performance.now();
  const thread = new Worker(new URL('../test/service/large-loop-thread.ts', import.meta.url), {
    workerData: { items, concurrency },
    resourceLimits: { maxOldGenerationSizeMb: megabytes },
  });
  try {
    const [end]: unknown[] = await once(thread, 'message');
    const expected = { status: 'completed', output: { all: Array.from({ length: items }, (_one, at) => at) } };
    if (!isDeepStrictEqual(end, expected)) throw new Error(`a loop of ${items} items did not end as it should`);
  } finally {
    await thread.terminate();
  }
  return { items, megabytes, seconds: (performance.now() - startedAt) / 1_000 };
}
