/**
 * Requests made from the OpenAPI document: none is answered with 5xx, and each answer is one that the table of routes
 * allows. Ten thousand go to the handlers over the adapters of AWS and emulators, and ten thousand over HTTP to the whole
 * product in the embedded cloud. `STEPWELL_FUZZ_SEED` replays a run or makes another; `STEPWELL_FUZZ_REQUESTS` and
 * `STEPWELL_FUZZ_HTTP_REQUESTS` say how many.
 */
import { availableParallelism } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startInProcessCloud } from './in-process-cloud.ts';
import { createRequestSender } from './fuzz/request-sender.ts';
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
    const { violations, succeeded, neverSucceeded } = await campaign(door, seed, count);
    expect(violations.slice(0, 10), `${violations.length} of ${count}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(leastGood);
    expect(neverSucceeded, 'operations that were never answered well').toEqual([]);
  });

  test(`${overHttp} requests over HTTP`, async () => {
    const cloud = await startInProcessCloud(undefined, undefined, threads);
    onTestFinished(() => cloud.stop());
    const asker = createRequestSender(cloud.url);
    onTestFinished(() => asker.close());
    const { violations, succeeded } = await campaign(
      { apiKey: cloud.apiKey, send: (request) => asker.send(request) },
      seed,
      overHttp,
    );
    expect(violations.slice(0, 10), `${violations.length} of ${overHttp}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(leastGood);
  }, 900_000);
});
