/** When a key was last used: to the hour, for one write an hour. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { keyId as toKeyId } from '../../lib/engine/ids.ts';
import { hours, iso, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { Authenticator } from '../../lib/service/access/authenticator.ts';
import { type Http, http } from './http.ts';

const idOf = (key: string): string => key.split('_')[2] ?? '';
const ask = (api: Http, key: string) => api.call('GET', '/v1/workflows', { key });
const listed = async (api: Http, key: string, id: string) =>
  z
    .object({ data: z.array(z.looseObject({ keyId: z.string(), lastUsedAt: z.string().exactOptional() })) })
    .parse((await api.call('GET', '/v1/keys', { key })).body)
    .data.find(({ keyId }) => keyId === id)?.lastUsedAt;

/** An API whose notes of uses are counted. */
const counting = (): Http & { readonly notes: () => number } => {
  let notes = 0;
  const api = http(({ keys }) => {
    const note = keys.recordKeyUse.bind(keys);
    keys.recordKeyUse = (id, at) => ((notes += 1), note(id, at));
    return {};
  });
  return { ...api, notes: () => notes };
};

describe('the last use of a key', () => {
  test('is the hour of its last use; an unused key has none', async () => {
    const api = http();
    const [admin, other] = [await api.key(['admin']), await api.key(['workflows:read'])];
    expect(await listed(api, admin, idOf(other))).toBeUndefined();
    const hour = api.world.clock.now();
    api.world.clock.advance(minutes(59));
    await ask(api, other);
    expect(await listed(api, admin, idOf(other))).toBe(iso(hour));
    api.world.clock.advance(minutes(1));
    await ask(api, other);
    expect(await listed(api, admin, idOf(other))).toBe(iso(api.world.clock.now()));
  });

  test('costs one write an hour, however often the key is used and read', async () => {
    const api = counting();
    const key = await api.key(['workflows:read'], { rateLimitPerMinute: null });
    for (let at = 0; at < 100; at += 1) {
      await ask(api, key);
      api.world.clock.advance(seconds(30));
    }
    // Fifty minutes from the full hour on.
    expect(api.notes()).toBe(1);
    api.world.clock.advance(hours(1));
    await ask(api, key);
    expect(api.notes()).toBe(2);
  });

  test('that another function has noted costs none', async () => {
    const api = counting();
    const key = await api.key(['workflows:read']);
    await ask(api, key);
    const stored = await api.world.keys.key(toKeyId(idOf(key)));
    if (stored === undefined) throw new Error('no key');
    await new Authenticator(api.world).recordUse(stored);
    expect(api.notes()).toBe(1);
  });

  test('is not recorded for a refused key', async () => {
    const api = counting();
    const key = await api.key(['admin'], { revokedAt: api.world.clock.now() });
    expect([(await ask(api, key)).status, (await ask(api, `${key.slice(0, -1)}x`)).status, api.notes()]).toEqual([401, 401, 0]);
  });

  test('that cannot be recorded does not fail the request, and is logged without the key', async () => {
    const api = http(({ keys }) => {
      keys.recordKeyUse = () => Promise.reject(new Unavailable('the table'));
      return {};
    });
    const key = await api.key(['workflows:read']);
    expect((await ask(api, key)).status).toBe(200);
    const warned = api.logs.filter(({ level }) => level === 'warn');
    expect(warned).toMatchObject([{ message: 'use of a key could not be recorded', facts: { keyId: idOf(key) } }]);
    expect(JSON.stringify(api.logs)).not.toContain(key.slice(-12));
  });
});
