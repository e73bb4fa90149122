/**
 * Random requests from the OpenAPI document: none gets a 5xx, and the table of routes allows each response. Ten thousand go to the
 * handlers over the AWS adapters and the emulators. Four thousand go over HTTP to the whole product in the embedded cloud, with a seed
 * that changes with the day and the commit; CI's share is a thousand. `STEPWELL_FUZZ_SEED` sets the seed of both;
 * `STEPWELL_FUZZ_REQUESTS` and `STEPWELL_FUZZ_HTTP_REQUESTS` set the numbers.
 */
import { availableParallelism } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { firstRotatingSeed, rotatingPart } from '../tier.ts';
import { startInProcessCloud } from './in-process-cloud.ts';
import { createRequestSender } from './fuzz/request-sender.ts';
import { campaign } from './fuzz/campaign.ts';
import { openHandlers } from './fuzz/handlers.ts';

const givenSeed = process.env['STEPWELL_FUZZ_SEED'];
/** With this seed each operation succeeds at least once, which the first campaign requires. */
const seed = Number(givenSeed ?? 20_261_121);
const httpSeed = Number(givenSeed ?? firstRotatingSeed(1));
const count = Number(process.env['STEPWELL_FUZZ_REQUESTS'] ?? 10_000);
const overHttp = Number(process.env['STEPWELL_FUZZ_HTTP_REQUESTS'] ?? rotatingPart(4_000, 4).count);
/** Threads per function. Every thread loads its bundle, and more threads than cores slow each other down. */
const threads = Math.min(8, Math.max(2, availableParallelism()));
/** Below this share of successes the requests reach too little of the product. */
const leastGood = 0.3;

/** It needs an identity provider: test/functions/provider-sign-in.test.ts. */
const needMore = ['signInWithProvider'];

const replay = (of: number): string =>
  `replay: STEPWELL_FUZZ_SEED=${of} STEPWELL_FUZZ_REQUESTS=${count} STEPWELL_FUZZ_HTTP_REQUESTS=${overHttp} STEPWELL_TEST_TIER=deep npx vitest run test/e2e/fuzz.deep.test.ts`;

describe('random requests', () => {
  test(`${count} requests to the handlers, seed ${seed}`, async () => {
    const door = await openHandlers();
    onTestFinished(() => door.close());
    const { violations, succeeded, neverSucceeded } = await campaign(door, seed, count);
    expect(violations.slice(0, 10), `${violations.length} of ${count}; ${replay(seed)}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(leastGood);
    expect(neverSucceeded.toSorted(), 'operations that were never answered well').toEqual(needMore);
  });

  test(`${overHttp} requests over HTTP, seed ${httpSeed}`, async () => {
    const cloud = await startInProcessCloud(undefined, undefined, threads);
    onTestFinished(() => cloud.stop());
    const asker = createRequestSender(cloud.url);
    onTestFinished(() => asker.close());
    const { violations, succeeded } = await campaign(
      { apiKey: cloud.apiKey, send: (request) => asker.send(request) },
      httpSeed,
      overHttp,
    );
    expect(violations.slice(0, 10), `${violations.length} of ${overHttp}; ${replay(httpSeed)}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(leastGood);
  });
});
