/** Retries of a temporarily unavailable store. */
import { expect, test } from 'vitest';
import { between, durationMs, seconds } from '../../../lib/engine/time.ts';
import { MemoryClock } from '../../../lib/memory/clock.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { retryUnavailable } from '../../../lib/service/run-log/retry-unavailable.ts';
import { noon } from '../../contract/samples.ts';

/** Calls a store that is unavailable for the given time. @returns the result, and the time until it */
async function asked(refusedFor: number, refuse: () => unknown = () => new Unavailable('the store')) {
  const clock = new MemoryClock(noon);
  let tries = 0;
  let end: unknown;
  const asking = retryUnavailable(clock, async () => {
    tries += 1;
    if (between(noon, clock.now()) < refusedFor) throw refuse();
    return 'an answer';
  }).then(
    (answer) => (end = answer),
    (error: unknown) => (end = error),
  );
  while (end === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.set(clock.nextWakeAt() ?? clock.now());
  }
  await asking;
  return { end, tries, tookMs: between(noon, clock.now()) };
}

test('a store that is unavailable for 15 s is retried until it answers', async () => {
  expect(await asked(seconds(15))).toEqual({ end: 'an answer', tries: 6, tookMs: durationMs(15_500) });
  expect(await asked(0)).toEqual({ end: 'an answer', tries: 1, tookMs: durationMs(0) });
});

test('after a longer outage the call fails', async () => {
  expect((await asked(seconds(60))).end).toBeInstanceOf(Unavailable);
});

test('other errors are not retried', async () => {
  const fault = new RangeError('it is too large');
  expect(await asked(seconds(1), () => fault)).toEqual({ end: fault, tries: 1, tookMs: durationMs(0) });
});
