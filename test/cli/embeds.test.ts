/** `embeds …`. */
import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { createdEmbedResponse, embedList, revokedEmbedResponse } from '../../lib/api/schemas/embeds.ts';
import { instantGraph, started } from '../functions/http.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, dataIn, errorIn, url } from './test-cli.ts';

let environment: CliEnvironment;
let admin: TestCli;
beforeEach(async () => {
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin']);
});
const createdShape = createdEmbedResponse.extend({ address: z.string() });
const listShape = z.strictObject({ items: embedList.shape.data, hasMore: z.literal(false) });
const origin = ['--origin', 'https://intranet.example.com'];

test('create prints only the address on stdout, once, and list has no token', async () => {
  const runId = await started(environment.api, await environment.api.key(['admin']), { graph: instantGraph() });
  const { exitCode, out, err } = await admin.type('embeds', 'create', '--run', runId, ...origin);
  expect(exitCode).toBe(0);
  expect(out).toMatch(new RegExp(`^${url}/embed/[\\w-]{20,}\n$`));
  expect(err).toContain('shown only once');
  const listed = await admin.type('embeds', 'list');
  expect(listed.out).toMatch(new RegExp(`^emb_[\\w-]{22} +${runId} +https://intranet\\.example\\.com `, 'm'));
  expect(listed.out).not.toContain(out.trim().split('/').at(-1));
});

test('create takes a workflow, several origins and an expiry', async () => {
  await environment.api.call('POST', '/v1/workflows', {
    key: await environment.api.key(['admin']),
    body: { name: 'nightly', ...instantGraph() },
  });
  const line = ['--workflow', 'nightly', ...origin, 'https://b.example.com', '--expires-in-days', '2'];
  const created = dataIn(await admin.type('--json', 'embeds', 'create', ...line), createdShape);
  expect(created).toMatchObject({ workflowName: 'nightly', origins: ['https://intranet.example.com', 'https://b.example.com'] });
  expect(Date.parse(created.expiresAt) - Date.parse(created.createdAt)).toBe(2 * 86_400_000);
  expect(created.address).toBe(`${url}/${created.path}`);
});

test('revoke ends an embed, and an unknown one exits with 1', async () => {
  const runId = await started(environment.api, await environment.api.key(['admin']), { graph: instantGraph() });
  const { embedId } = dataIn(await admin.type('--json', 'embeds', 'create', '--run', runId, ...origin), createdShape);
  expect(dataIn(await admin.type('--json', 'embeds', 'revoke', embedId), revokedEmbedResponse)).toEqual({
    embedId,
    revoked: true,
  });
  expect(dataIn(await admin.type('--json', 'embeds', 'list'), listShape).items).toEqual([]);
  expect((await admin.type('embeds', 'list')).out).toBe('No embed exists.\n');
  const again = await admin.type('--json', 'embeds', 'revoke', embedId);
  expect([again.exitCode, errorIn(again).code]).toEqual([1, 'not_found']);
});

test.each([
  [['embeds', 'create', ...origin], 'one of --run and --workflow'],
  [['embeds', 'create', ...origin, '--run', 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV', '--workflow', 'a'], 'one of --run and --workflow'],
  [['embeds', 'create', '--workflow', 'a', '--origin', 'https://a.example/path'], '--origin'],
  [['embeds', 'create', '--workflow', 'a', '--origin', '*'], 'wildcard'],
  [['embeds', 'create', '--workflow', 'a', ...origin, '--expires-in-days', '366'], '--expires-in-days must be 365 or less'],
  [['embeds', 'revoke', 'x'], '<embedId> must be the id of an embed'],
])('%j is refused before a request', async (line, message) => {
  const refused = await admin.type('--json', ...line);
  expect([refused.exitCode, errorIn(refused)]).toMatchObject([3, { code: 'usage', message: expect.stringContaining(message) }]);
  expect(admin.sent).toEqual([]);
});
