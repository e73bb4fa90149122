/** The estimate that the API gives for a run, beside its bill as the embedded cloud counts it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type BenchCloud, startBenchCloud } from '../../bench/bench-cloud.ts';
import { total } from '../../bench/bill.ts';
import { dollarsPerMillionRuns } from '../../bench/prices.ts';
import { scenarios } from '../../bench/scenarios.ts';
import { preparedFolder } from '../e2e/local-start.ts';

const folder = preparedFolder(mkdtempSync(join(tmpdir(), 'stepwell-estimate-')));
let bench: BenchCloud;
beforeAll(async () => {
  bench = await startBenchCloud(folder, () => undefined);
}, 120_000);
afterAll(async () => {
  await bench.stop();
  rmSync(folder, { recursive: true, force: true });
});

const shown = z.looseObject({
  bytes: z.number(),
  estimate: z.object({ dollars: z.number(), parts: z.array(z.object({ kind: z.string(), count: z.number() })) }),
});
const compared = [
  'chain-10',
  'chain-100',
  'chain-10-of-effects',
  'chain-100-of-effects',
  'code-10',
  'code-10-together',
  'fan-8',
  'fan-100-together',
  'sleep-20-minutes',
];

test.each(compared)('the estimate of %s is within a tenth of its bill', async (name) => {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const { workflow, heldResults } = scenario;
  await bench.publish(workflow);
  await bench.waitUntilIdle(await bench.start(workflow, `${name}-warm`));
  const from = bench.calls;
  const release = heldResults === undefined ? undefined : bench.holdResults(heldResults);
  const runId = await bench.start(workflow, `${name}-estimated`);
  await bench.waitUntilIdle(runId);
  release?.();
  const bill = bench.bill([runId], from);
  const { estimate, bytes } = shown.parse(await bench.get(`/v1/runs/${runId}?resolveData=none&estimate=true`));
  const billed: Readonly<Record<string, number>> = {
    ...Object.fromEntries(dollarsPerMillionRuns(bill).map(({ kind, count }) => [kind, count])),
    // Other writers won these, and no log says so.
    writeUnits: total(bill.writeUnits, ['lost puts', 'snapshots']),
  };
  const counts = Object.fromEntries(estimate.parts.map(({ kind, count }) => [kind, count]));
  // A schedule is billed when it fires, which this run does not wait for.
  const firing = name === 'sleep-20-minutes' ? { queueRequests: 3, invocations: 1 } : { queueRequests: 0, invocations: 0 };
  const about = (kind: string, more = 0): void => {
    const wanted = (billed[kind] ?? 0) + more;
    const near = Math.max(1, wanted / 10);
    expect(Math.abs((counts[kind] ?? 0) - wanted), `${kind}: ${counts[kind]}, billed ${wanted}`).toBeLessThanOrEqual(near);
  };
  about('writeUnits');
  about('queueRequests', firing.queueRequests);
  about('invocations', firing.invocations);
  about('busEvents');
  about('schedules');
  expect(counts['apiRequests']).toBe(1);
  expect(bytes).toBeGreaterThan(500);
  expect(estimate.dollars).toBeGreaterThan(0.000_005);
});
