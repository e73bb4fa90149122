/** Reads and writes of one `POST /v1/runs`: with a key that is not cached, and with a cached key; and of a batch of ten starts. */
import type { BenchCloud } from './bench-cloud.ts';
import type { Bill } from './bill.ts';
import { batchStarts } from './scenarios.ts';
import { chain } from './workflows.ts';

export interface StartCost {
  readonly key: 'cold' | 'warm' | 'batch';
  readonly bill: Bill;
}

export const startGoldenName = (key: StartCost['key']): string => (key === 'batch' ? 'start-batch-of-ten' : `start-${key}-key`);

/** Counts until the response. No other run may be active. */
export async function countStarts(bench: BenchCloud): Promise<readonly StartCost[]> {
  const workflow = chain(10);
  await bench.publish(workflow);
  await bench.waitUntilIdle(await bench.start(workflow, 'start-cost-warm-up'));
  const apiKey = await bench.freshKey();
  const costs: StartCost[] = [];
  for (const key of ['cold', 'warm'] as const) {
    const from = bench.calls;
    const runId = await bench.start(workflow, `start-cost-${key}`, apiKey);
    await bench.waitUntilIdle(runId);
    costs.push({ key, bill: bench.billOf('api', from) });
  }
  const from = bench.calls;
  const keys = Array.from({ length: batchStarts }, (_, index) => `start-cost-batch-${index}`);
  for (const runId of await bench.startBatch(workflow, keys, apiKey)) await bench.waitUntilIdle(runId);
  costs.push({ key: 'batch', bill: bench.billOf('api', from) });
  return costs;
}
