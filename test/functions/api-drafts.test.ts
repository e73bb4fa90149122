import { expect, test } from 'vitest';
import { http, openGraph } from './http.ts';

const path = '/v1/workflows/flow/draft';

test('a draft is saved, changed, read and deleted, for a workflow without a version', async () => {
  const api = http();
  const key = await api.key(['workflows:write', 'workflows:read', 'payloads:read']);
  expect((await api.call('GET', path, { key })).body).toMatchObject({ code: 'draft_not_found' });
  const definition = { nodes: 'not yet', note: { deep: [null] } };
  const first = await api.call('POST', path, { key, body: { definition, revision: 0, basedOn: null } });
  expect([first.status, first.body]).toEqual([
    200,
    {
      name: 'flow',
      revision: 1,
      basedOn: null,
      definition,
      updatedAt: '2026-01-01T00:00:00.000Z',
      updatedBy: `key:${key.split('_')[2]}`,
    },
  ]);
  const second = await api.call('POST', path, { key, body: { definition: openGraph, revision: 1, basedOn: 3 } });
  expect(second.body).toMatchObject({ revision: 2, basedOn: 3, definition: openGraph });
  expect((await api.call('GET', path, { key })).body).toEqual(second.body);
  expect((await api.call('GET', '/v1/workflows', { key })).body).toMatchObject({ data: [] });
  const deleted = await api.call('DELETE', path, { key, query: { revision: '2' } });
  expect([deleted.status, deleted.body]).toEqual([200, { name: 'flow', deleted: true }]);
  expect((await api.call('DELETE', path, { key })).body).toMatchObject({ code: 'draft_not_found' });
});

test('a conflict names the stored revision, its time and its author', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const save = (revision: number, definition: object) =>
    api.call('POST', path, { key, body: { definition, revision, basedOn: null } });
  expect((await save(4, {})).body).toMatchObject({ code: 'draft_conflict', current: { revision: 0 } });
  await save(0, {});
  const refused = await save(0, { mine: true });
  expect([refused.status, refused.body['code'], refused.body['current']]).toEqual([
    409,
    'draft_conflict',
    { revision: 1, at: '2026-01-01T00:00:00.000Z', by: `key:${key.split('_')[2]}` },
  ]);
  const kept = await api.call('DELETE', path, { key, query: { revision: '7' } });
  expect(kept.body).toMatchObject({ code: 'draft_conflict', current: { revision: 1 } });
});

test.each([
  ['no definition', { revision: 0, basedOn: null }, '/definition'],
  ['a definition that is a list', { definition: [], revision: 0, basedOn: null }, '/definition'],
  ['no revision', { definition: {}, basedOn: null }, '/revision'],
  ['a negative revision', { definition: {}, revision: -1, basedOn: null }, '/revision'],
  ['no basedOn', { definition: {}, revision: 0 }, '/basedOn'],
  ['version 0', { definition: {}, revision: 0, basedOn: 0 }, '/basedOn'],
  ['an unknown key', { definition: {}, revision: 0, basedOn: null, name: 'flow' }, '/name'],
])('%s is refused at its pointer', async (_what, body, pointer) => {
  const api = http();
  const { status, body: refusal } = await api.call('POST', path, { key: await api.key(['admin']), body });
  expect([status, refusal]).toMatchObject([400, { code: 'invalid_request', errors: [{ pointer }] }]);
});

test('a definition that does not fit into one item is refused', async () => {
  const api = http();
  const definition = { noise: Array.from({ length: 60_000 }, (_, index) => Math.sin(index + 1)) };
  const body = { definition, revision: 0, basedOn: null };
  const refused = await api.call('POST', path, { key: await api.key(['admin']), body });
  expect(refused.body).toMatchObject({
    code: 'definition_invalid',
    errors: [{ code: 'definition_too_large', pointer: '/definition' }],
  });
});

test('a name that no workflow can have is refused, and another project has no access', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const body = { definition: {}, revision: 0, basedOn: null };
  expect((await api.call('GET', '/v1/workflows/not%20a%20name/draft', { key })).body).toMatchObject({ code: 'draft_not_found' });
  const misnamed = await api.call('POST', '/v1/workflows/not%20a%20name/draft', { key, body });
  expect(misnamed.body).toMatchObject({ code: 'workflow_not_found' });
  await api.call('POST', path, { key, body });
  const other = await api.key(['admin'], { project: 'other' });
  expect((await api.call('GET', path, { key: other })).body).toMatchObject({ code: 'draft_not_found' });
  expect((await api.call('POST', path, { key: other, body: { ...body, definition: { theirs: true } } })).status).toBe(200);
  expect((await api.call('GET', path, { key })).body).toMatchObject({ definition: {} });
});

test('a workflow that is being deleted accepts no draft', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
  await api.call('POST', '/v1/workflows/flow/delete', { key, body: { confirm: 'flow' } });
  const refused = await api.call('POST', path, { key, body: { definition: {}, revision: 0, basedOn: 1 } });
  expect([refused.status, refused.body['code']]).toEqual([409, 'workflow_deleting']);
});
