/** Two functions on one store whose clocks differ by five minutes, as those of two machines may. */
import { describe, expect, test } from 'vitest';
import { after, hours, instant, minutes, seconds } from '../../lib/engine/time.ts';
import { type Http, http, openGraph, textIn } from './http.ts';

/** Another function on the same store, with a clock of its own that begins where the first one's is. */
const beside = (one: Http): Http => {
  const { clock: _clock, ...stores } = one.world;
  const other = http(() => stores);
  other.world.clock.set(one.world.clock.now());
  return other;
};
const skewed = (): { readonly right: Http; readonly ahead: Http; readonly behind: Http } => {
  const right = http();
  const [ahead, behind] = [beside(right), beside(right)];
  ahead.world.clock.advance(minutes(5));
  behind.world.clock.set(instant(right.world.clock.now() - minutes(5)));
  return { right, ahead, behind };
};
const pass = (apis: readonly Http[], by: Parameters<Http['world']['clock']['advance']>[0]): void => {
  for (const { world } of apis) world.clock.advance(by);
};

test('a key expires by the clock of the function that checks it', async () => {
  const { right, ahead, behind } = skewed();
  const end = after(right.world.clock.now(), minutes(3));
  const key = await right.key(['admin'], { expiresAt: end });
  const statuses = async () =>
    Promise.all([ahead, right, behind].map(async (api) => (await api.call('GET', '/v1/runs', { key })).status));
  expect(await statuses()).toEqual([401, 200, 200]);
  pass([ahead, right, behind], minutes(3));
  expect(await statuses()).toEqual([401, 401, 200]);
  pass([ahead, right, behind], minutes(5));
  expect(await statuses()).toEqual([401, 401, 401]);
});

test.each(['ahead', 'behind'] as const)('a revocation is honoured within 30 s by a function whose clock is %s', async (which) => {
  const all = skewed();
  const [key, admin] = [await all.right.key(['runs:read']), await all.right.key(['admin'])];
  const ask = async () => (await all[which].call('GET', '/v1/runs', { key })).status;
  expect(await ask()).toBe(200);
  const revoked = await all.right.call('DELETE', `/v1/keys/${key.split('_')[2]}`, { key: admin });
  expect(revoked.status).toBe(200);
  pass(Object.values(all), seconds(30));
  expect(await ask()).toBe(401);
});

describe('an idempotency key', () => {
  const start = (api: Http, key: string) =>
    api.call('POST', '/v1/runs', { key, headers: { 'Idempotency-Key': 'one' }, body: { workflowName: 'flow' } });
  const prepared = async () => {
    const all = skewed();
    const key = await all.right.key(['admin']);
    await all.right.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
    return { ...all, key, every: Object.values(all) };
  };

  test.each([
    ['ahead', 'behind'],
    ['behind', 'ahead'],
    ['behind', 'right'],
  ] as const)('used where the clock is %s makes no second run where it is %s', async (first, second) => {
    const all = await prepared();
    const one = await start(all[first], all.key);
    const other = await start(all[second], all.key);
    expect([one.status, other.status, other.headers['idempotency-replayed']]).toEqual([202, 202, 'true']);
    expect(textIn(other, 'runId')).toBe(textIn(one, 'runId'));
  });

  test('is valid for a day, plus or minus the clock difference', async () => {
    const all = await prepared();
    const first = textIn(await start(all.right, all.key), 'runId');
    pass(all.every, hours(23));
    pass(all.every, minutes(54));
    expect(textIn(await start(all.ahead, all.key), 'runId')).toBe(first);
    pass(all.every, minutes(12));
    expect(textIn(await start(all.behind, all.key), 'runId')).not.toBe(first);
  });
});

test('functions with clocks in different minutes each allow the limit once', async () => {
  const all = skewed();
  const key = await all.right.key(['admin'], { rateLimitPerMinute: 5 });
  for (const api of [all.ahead, all.right, all.behind]) {
    const statuses: number[] = [];
    for (let count = 0; count < 8; count += 1) statuses.push((await api.call('GET', '/v1/runs', { key })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  }
});
