/** Key rotation: a working key exists at every point, even after an error. */
import { describe, expect, test } from 'vitest';
import { type KeyId, keyId } from '../../lib/engine/ids.ts';
import { after, hours, seconds } from '../../lib/engine/time.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import type { Keys } from '../../lib/ports/control.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { createKey } from '../../lib/service/access/create-key.ts';
import { revokeKey } from '../../lib/service/access/revoke-key.ts';
import { rotateKey } from '../../lib/service/access/rotate-key.ts';
import { scope } from './test-env.ts';

const minted = (id: string) => ({ keyId: keyId(id), secretHash: id.padEnd(64, '0') });
const old = keyId('oldkey001');
const successor = minted('newkey001');

/** Ports with one key, and a key store with some operations replaced. */
const withKey = async (change: (keys: Keys) => Partial<Keys> = () => ({})) => {
  const { keys, clock } = memoryPorts();
  await createKey({ keys, clock }, scope, { scopes: ['admin', 'runs:read'], rateLimitPerMinute: 5 }, minted(old));
  const changed: Keys = {
    key: (id) => keys.key(id),
    putKey: (key) => keys.putKey(key),
    listKeys: (of, options) => keys.listKeys(of, options),
    revokeKey: (of, id, at) => keys.revokeKey(of, id, at),
    replaceKey: (of, id, end) => keys.replaceKey(of, id, end),
    updateKey: (of, id, terms) => keys.updateKey(of, id, terms),
    recordKeyUse: (id, at) => keys.recordKeyUse(id, at),
    ...change(keys),
  };
  return { keys, clock, deps: { keys: changed, clock } };
};
const isUsable = async (keys: Keys, id: KeyId): Promise<boolean> => {
  const key = await keys.key(id);
  return key !== undefined && key.revokedAt === undefined && key.expiresAt === undefined;
};

describe('a rotation', () => {
  test('that stops after the new key was stored leaves the old one unchanged, and can be repeated', async () => {
    const { keys, clock, deps } = await withKey(() => ({ replaceKey: () => Promise.reject(new Unavailable('the table')) }));
    await expect(rotateKey(deps, scope, old, hours(1), successor)).rejects.toThrow(Unavailable);
    expect(await isUsable(keys, old)).toBe(true);
    const again = await rotateKey({ keys, clock }, scope, old, hours(1), minted('newkey002'));
    expect(again).toMatchObject({ kind: 'rotated', key: { keyId: 'newkey002', scopes: ['runs:read', 'admin'] } });
  });

  test('that cannot store the new key changes nothing', async () => {
    const { keys, deps } = await withKey(() => ({ putKey: () => Promise.reject(new Unavailable('the table')) }));
    await expect(rotateKey(deps, scope, old, hours(1), successor)).rejects.toThrow(Unavailable);
    expect(await isUsable(keys, old)).toBe(true);
  });

  test('that loses to a revocation returns no working key', async () => {
    const { keys, deps } = await withKey((real) => ({
      putKey: async (key) => {
        const put = await real.putKey(key);
        await real.revokeKey(scope, old, key.createdAt);
        return put;
      },
    }));
    expect(await rotateKey(deps, scope, old, hours(1), successor)).toEqual({ kind: 'key_retired' });
    expect(await isUsable(keys, successor.keyId)).toBe(false);
  });

  test('never reuses a key id', async () => {
    const { keys, clock, deps } = await withKey();
    const taken = minted('takenkey1');
    await createKey({ keys, clock }, scope, { scopes: ['runs:read'] }, taken);
    await expect(rotateKey(deps, scope, old, hours(1), { ...taken, secretHash: 'other' })).rejects.toThrow('takenkey1');
    expect(await isUsable(keys, old)).toBe(true);
  });
});

test('a repeated revocation keeps its first time, and a key cannot revoke itself', async () => {
  const { clock, deps } = await withKey();
  const revokedAt = clock.now();
  const caller = keyId('somebody1');
  expect(await revokeKey(deps, scope, old, caller)).toEqual({ kind: 'revoked', revokedAt });
  clock.advance(seconds(9));
  expect(await revokeKey(deps, scope, old, caller)).toEqual({ kind: 'revoked', revokedAt });
  expect(await revokeKey(deps, scope, caller, caller)).toEqual({ kind: 'key_in_use' });
  expect(await revokeKey(deps, scope, caller, old)).toEqual({ kind: 'not_found' });
});

test('a key that would expire before its creation is not created', async () => {
  const { keys, clock, deps } = await withKey();
  const request = (expiresAt: ReturnType<typeof clock.now>) =>
    createKey(deps, scope, { scopes: ['runs:read'], expiresAt }, successor);
  expect(await request(clock.now())).toEqual({ kind: 'expired' });
  expect(await keys.key(successor.keyId)).toBeUndefined();
  expect(await request(after(clock.now(), seconds(1)))).toMatchObject({ kind: 'created' });
});
