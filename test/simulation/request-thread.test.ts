/** An error in a thread reaches the test that uses the thread. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { RequestThread } from './request-thread.ts';
import { tallySchema } from './tally.ts';

const seedsThread = new URL('./seeds-thread.ts', import.meta.url);

test('responses have the order of the requests', async () => {
  await using thread = new RequestThread(seedsThread, tallySchema);
  const [one, two] = [
    await thread.request({ from: 1, count: 1, world: 'calm' }),
    await thread.request({ from: 1, count: 2, world: 'calm' }),
  ];
  expect([one.seeds, two.seeds, two.failed]).toEqual([1, 2, []]);
});

test('an invalid request is rejected', async () => {
  await using thread = new RequestThread(seedsThread, tallySchema);
  await expect(thread.request({ from: 'anywhere' })).rejects.toThrow();
});

test('an invalid response is rejected', async () => {
  await using thread = new RequestThread(seedsThread, z.strictObject({ rows: z.number() }));
  await expect(thread.request({ from: 1, count: 1, world: 'calm' })).rejects.toThrow('rows');
});

test('a thread that ends without a response rejects its request', async () => {
  await using thread = new RequestThread(new URL('data:text/javascript,process.exit(3)'), tallySchema);
  await expect(thread.request({})).rejects.toThrow('the thread ended with 3 without a response');
});
