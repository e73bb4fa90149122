/** `keys …` and `audit`. */
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import * as keys from '../../lib/api/schemas/keys.ts';
import { auditList } from '../../lib/api/schemas/keys.ts';
import { seconds } from '../../lib/engine/time.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, dataIn, errorIn, expectExit } from './test-cli.ts';

let environment: CliEnvironment;
let admin: TestCli;
beforeEach(async () => {
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin']);
  // Keys created from now on are newer than the admin key.
  environment.api.world.clock.advance(seconds(1));
});
const listShape = z.strictObject({ items: z.array(keys.keyList.shape.data.unwrap().element), hasMore: z.boolean() });
const auditShape = z.strictObject({ items: z.array(auditList.shape.data.unwrap().element), hasMore: z.boolean() });
const list = async () => dataIn(await admin.type('--json', 'keys', 'list'), listShape).items;

describe('keys', () => {
  test('create prints only the key on stdout, once', async () => {
    const { exitCode, out, err } = await admin.type('keys', 'create', '--scopes', 'trigger:write, runs:read', '--rate', '600');
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^sw_test_\w+\n$/);
    expect(err).toContain('trigger:write, runs:read. It is shown only once.');
    const [createdKeys] = await list();
    expect(createdKeys).toMatchObject({ scopes: ['trigger:write', 'runs:read'], rateLimitPerMinute: 600 });
    const shown = await admin.type('keys', 'list');
    expect(shown.out + shown.err).not.toContain(out.trim().slice(-12));
  });
  test('create accepts an expiry and no rate limit', async () => {
    const line = ['keys', 'create', '--scopes', 'admin', '--expires-in-days', '30', '--rate', 'none'];
    expect(dataIn(await admin.type('--json', ...line), keys.createdKeyResponse)).toMatchObject({
      expiresAt: new Date(environment.api.world.clock.now() + 30 * 86_400_000).toISOString(),
      rateLimitPerMinute: null,
    });
    const both = await admin.type('--json', ...line, '--expires-at', '2027-01-01T00:00:00Z');
    expect([both.exitCode, errorIn(both).code]).toEqual([3, 'usage']);
  });
  test('list shows revoked and rotated keys as text', async () => {
    const createKey = async () =>
      dataIn(await admin.type('--json', 'keys', 'create', '--scopes', 'runs:read'), keys.createdKeyResponse);
    const [one, two] = [await createKey(), await createKey()];
    expectExit(await admin.type('keys', 'revoke', one.keyId), 0);
    const rotated = await admin.type('keys', 'rotate', two.keyId, '--overlap-seconds', '60');
    expect(rotated.out).toMatch(/^sw_test_\w+\n$/);
    expect(rotated.err).toContain(`replaces ${two.keyId}, which works until`);
    environment.api.world.clock.advance(seconds(61));
    const { out } = await admin.type('keys', 'list');
    expect(out).toMatch(new RegExp(`^${one.keyId} +⊘ revoked`, 'm'));
    expect(out).toMatch(new RegExp(`^${two.keyId} +⊘ expired`, 'm'));
    expect(out).toMatch(/✓ active +runs:read/);
    const again = await admin.type('--json', 'keys', 'rotate', two.keyId);
    expect([again.exitCode, errorIn(again).code]).toEqual([1, 'key_retired']);
  });
});

describe('audit', () => {
  test('lists requests by filters', async () => {
    const createdKeys = await admin.type('--json', 'keys', 'create', '--scopes', 'runs:read');
    const { keyId } = dataIn(createdKeys, keys.createdKeyResponse);
    environment.api.world.clock.advance(seconds(1));
    await admin.type('keys', 'revoke', keyId);
    const actions = async (...filters: readonly string[]) =>
      dataIn(await admin.type('--json', 'audit', ...filters), auditShape).items.map(({ action }) => action);
    expect(await actions()).toEqual(['keys.revoke', 'keys.create']);
    expect(await actions('--action', 'keys.create')).toEqual(['keys.create']);
    expect(await actions('--result', 'failure')).toEqual([]);
    expect(await actions('--key', keyId)).toEqual([]);
    expect(await actions('--to', '2020-01-01T00:00:00Z')).toEqual([]);
    expect((await admin.type('audit')).out).toMatch(new RegExp(`keys\\.revoke +key/${keyId} +✓ success`));
  });
});
