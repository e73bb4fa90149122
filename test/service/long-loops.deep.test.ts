/** Memory of a long loop: it must complete in a thread with little memory. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

/**
 * Heap that survives garbage collection, including code. The loop completes with 32 MB. When the fold kept the nodes of ended
 * iterations, it ran out of memory at 40 MB.
 */
const maxMegabytes = 36;

test(`twenty thousand items run in ${maxMegabytes} MB, and their results are in the order of the items`, async () => {
  const items = 20_000;
  const thread = new Worker(new URL('./large-loop-thread.ts', import.meta.url), {
    workerData: { items, concurrency: 50 },
    resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
    execArgv: [],
  });
  try {
    const [end]: unknown[] = await once(thread, 'message');
    expect(end).toEqual({ status: 'completed', output: { all: Array.from({ length: items }, (_, index) => index) } });
  } finally {
    await thread.terminate();
  }
}, 240_000);
