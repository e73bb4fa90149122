import { expect, test } from 'vitest';
import * as z from 'zod';
import { http, textIn } from './http.ts';

const body = {
  name: 'tone',
  template: 'Say [[Text]] in a {{tone!}} tone',
  input: { fields: { text: { type: 'string', required: true } } },
  params: { temperature: 0.2 },
};

test('a lens is created, gets versions, and is read back as it was published', async () => {
  const api = http();
  const key = await api.key(['workflows:write', 'workflows:read']);
  const created = await api.call('POST', '/v1/lenses', { key, body });
  expect([created.status, created.headers['location']]).toEqual([201, '/v1/lenses/tone']);
  const placeholders = [
    { label: 'Text', optional: false },
    { label: 'tone', optional: true },
  ];
  expect(created.body).toEqual({ name: 'tone', version: 1, createdAt: '2026-01-01T00:00:00.000Z', placeholders });

  const second = { template: '[[text]]', kind: 'research', output: { jsonSchema: { type: 'array' }, artifactKind: 'json' } };
  const published = await api.call('POST', '/v1/lenses/tone/versions', { key, body: second });
  expect([published.status, published.headers['location']]).toEqual([201, '/v1/lenses/tone?version=2']);

  const latest = await api.call('GET', '/v1/lenses/tone', { key });
  expect(latest.body).toMatchObject({ name: 'tone', version: 2, latestVersion: 2, ...second });
  const first = await api.call('GET', '/v1/lenses/tone', { key, query: { version: '1' } });
  expect(first.body).toMatchObject({ ...body, version: 1, latestVersion: 2, kind: 'text', placeholders });
  const none = await api.call('GET', '/v1/lenses/tone', { key, query: { version: '3' } });
  expect([none.status, none.body['code']]).toEqual([404, 'not_found']);
});

test('every error is reported at once, and nothing is stored', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const bad = {
    ...body,
    template: '[[text:date]]',
    input: { fields: { text: { type: 'string', pattern: '(' } } },
    output: { jsonSchema: { $ref: 'https://example.com/schema' } },
  };
  const refused = await api.call('POST', '/v1/lenses', { key, body: bad });
  expect(refused.body).toMatchObject({
    code: 'lens_invalid',
    errors: [
      { pointer: '/template', code: 'template_invalid' },
      { pointer: '/input/fields/text/pattern', code: 'contract_invalid' },
      { pointer: '/output/jsonSchema/$ref', code: 'contract_invalid' },
    ],
  });
  expect((await api.call('GET', '/v1/lenses', { key })).body).toMatchObject({ data: [] });
  await api.call('POST', '/v1/lenses', { key, body });
  expect((await api.call('POST', '/v1/lenses/tone/versions', { key, body: bad })).body['code']).toBe('lens_invalid');
  expect((await api.call('GET', '/v1/lenses/tone', { key })).body['latestVersion']).toBe(1);
});

test.each([
  ['an unknown key', { ...body, tokens: ['x'] }, '/tokens'],
  ['no template', { name: 'tone' }, '/template'],
  ['a name that is none', { ...body, name: 'a b' }, '/name'],
])('%s is refused with its JSON pointer', async (_what, sent, pointer) => {
  const api = http();
  const answer = await api.call('POST', '/v1/lenses', { key: await api.key(['admin']), body: sent });
  expect(answer.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
});

test('a template beyond the limit is refused', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const answer = await api.call('POST', '/v1/lenses', { key, body: { ...body, template: 'x'.repeat(300_000) } });
  expect([answer.status, answer.body['code']]).toEqual([413, 'payload_too_large']);
});

test('the path and the body name the same lens', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/lenses', { key, body });
  const answer = await api.call('POST', '/v1/lenses/tone/versions', { key, body: { ...body, name: 'other' } });
  expect(answer.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/name', code: 'name_differs' }] });
});

test('an archived lens is hidden and readable, and listed again with its next version', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/lenses', { key, body });
  const archived = await api.call('DELETE', '/v1/lenses/tone', { key });
  expect(archived.body).toEqual({ name: 'tone', archivedAt: '2026-01-01T00:00:00.000Z' });
  expect((await api.call('GET', '/v1/lenses', { key })).body).toMatchObject({ data: [] });
  expect((await api.call('GET', '/v1/lenses', { key, query: { archived: 'true' } })).body).toMatchObject({
    data: [{ name: 'tone' }],
  });
  expect((await api.call('GET', '/v1/lenses/tone', { key })).body).toMatchObject({ archivedAt: '2026-01-01T00:00:00.000Z' });
  const published = await api.call('POST', '/v1/lenses/tone/versions', { key, body });
  expect(published).toMatchObject({ status: 201, body: { version: 2, unarchived: true } });
  expect([...api.world.audit.entries.values()].find(({ action }) => action === 'lenses.publish')).toMatchObject({
    metadata: { version: 2, unarchived: true },
  });
  expect((await api.call('GET', '/v1/lenses', { key })).body).toMatchObject({ data: [{ name: 'tone', latestVersion: 2 }] });
});

test('a list is ordered by name, in pages', async () => {
  const api = http();
  const key = await api.key(['admin']);
  for (const name of ['c', 'a', 'b']) await api.call('POST', '/v1/lenses', { key, body: { ...body, name } });
  const first = await api.call('GET', '/v1/lenses', { key, query: { limit: '2' } });
  expect(first.body).toMatchObject({ data: [{ name: 'a' }, { name: 'b' }], hasMore: true });
  const rest = await api.call('GET', '/v1/lenses', { key, query: { limit: '2', cursor: textIn(first, 'cursor') } });
  expect(rest.body).toMatchObject({ data: [{ name: 'c' }], hasMore: false, cursor: null });
});

test.each([
  [{ fields: { name: { type: 'text' } } }, ['/input/fields/name/type']],
  [{ field: { name: { type: 'string' } } }, ['/input/fields', '/input/field']],
  [{ fields: { name: { type: 'string' } }, jsonSchema: {} }, ['/input/jsonSchema']],
  [{ jsonSchema: 'none' }, ['/input/jsonSchema']],
  ['none', ['/input']],
])('a contract of neither form is refused where it is wrong: %j', async (input, pointers) => {
  const api = http();
  const body = { name: 'tone', template: 'Greet [[name]].', input };
  const refused = await api.call('POST', '/v1/lenses', { key: await api.key(['admin']), body });
  expect([refused.status, refused.body['code']]).toEqual([400, 'invalid_request']);
  const errors = z.array(z.looseObject({ pointer: z.string(), message: z.string() })).parse(refused.body['errors']);
  expect(errors.map(({ pointer }) => pointer)).toEqual(pointers);
  expect(errors.map(({ message }) => message)).not.toContain('Invalid input');
});
