/**
 * Requests made from the OpenAPI document: none is answered with 5xx, and each answer is one that the table of routes
 * allows. Ten thousand go to the handlers over the adapters of AWS and emulators, and ten thousand over HTTP to the whole
 * product in the embedded cloud. `STEPWELL_FUZZ_SEED` replays a run or makes another; `STEPWELL_FUZZ_REQUESTS` and
 * `STEPWELL_FUZZ_HTTP_REQUESTS` say how many.
 */
import { availableParallelism } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startCloudHere } from './cloud-here.ts';
import { askerOf } from './fuzz/ask.ts';
import { campaign } from './fuzz/campaign.ts';
import { openHandlers } from './fuzz/handlers.ts';

const seed = Number(process.env['STEPWELL_FUZZ_SEED'] ?? 20_261_121);
const count = Number(process.env['STEPWELL_FUZZ_REQUESTS'] ?? 10_000);
const overHttp = Number(process.env['STEPWELL_FUZZ_HTTP_REQUESTS'] ?? 10_000);
/** Of each function. Every thread has to load its bundle and get warm, and more of them than cores take each other's time. */
const threads = Math.min(8, Math.max(2, availableParallelism()));
/** Below that the requests are too bad to reach much of the product. */
const leastGood = 0.3;

describe(`seed ${seed}`, () => {
  test(`${count} requests to the handlers`, async () => {
    const door = await openHandlers();
    onTestFinished(() => door.close());
    const { faults, good, neverGood } = await campaign(door, seed, count);
    expect(faults.slice(0, 10), `${faults.length} of ${count}`).toEqual([]);
    expect(good).toBeGreaterThan(leastGood);
    expect(neverGood, 'operations that were never answered well').toEqual([]);
  });

  test(`${overHttp} requests over HTTP`, async () => {
    const cloud = await startCloudHere(undefined, undefined, threads);
    onTestFinished(() => cloud.stop());
    const asker = askerOf(cloud.url);
    onTestFinished(() => asker.close());
    const { faults, good } = await campaign({ apiKey: cloud.apiKey, ask: (request) => asker.ask(request) }, seed, overHttp);
    expect(faults.slice(0, 10), `${faults.length} of ${overHttp}`).toEqual([]);
    expect(good).toBeGreaterThan(leastGood);
  }, 900_000);
});
