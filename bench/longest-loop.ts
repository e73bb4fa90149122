/** The longest loop there may be, from its start to its end on stores in memory, and the memory that it is given. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { isDeepStrictEqual } from 'node:util';

const items = 100_000;
const concurrency = 50;
/** Twice what a fifth of it is given by `test/service/long-loops.test.ts`: all results are in hand when the loop is over. */
const megabytes = 96;

/** Seconds. @throws where it does not end well, or its results are not in the order of the items */
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
