/** What a long loop takes of memory: it runs to its end in a thread that has little, or the thread dies of it. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

/**
 * Of what outlives a collection of garbage, code and all: at 32 MB it still ends. With the nodes of ended passes kept in the fold it
 * died at 40.
 */
const mostMegabytes = 36;

test(`twenty thousand items run in ${mostMegabytes} MB, and their results are in the order of the items`, async () => {
  const items = 20_000;
  const thread = new Worker(new URL('./large-loop-thread.ts', import.meta.url), {
    workerData: { items, concurrency: 50 },
    resourceLimits: { maxOldGenerationSizeMb: mostMegabytes },
    execArgv: [],
  });
  try {
    const [end]: unknown[] = await once(thread, 'message');
    expect(end).toEqual({ status: 'completed', output: { all: Array.from({ length: items }, (_, index) => index) } });
  } finally {
    await thread.terminate();
  }
}, 240_000);
