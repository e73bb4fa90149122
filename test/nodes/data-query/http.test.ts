/** Queries over HTTP, and the common parts of all queries: lookup and arguments. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { QueryDraft } from '../../../lib/engine/query/definition.ts';
import { createAttemptRunner } from '../../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../../lib/nodes/runners.ts';
import { found, inputOf, outputOf, planNode, toolsOf } from '../given.ts';
import { OtherSide, reachOf } from '../other-side.ts';
import { ask } from './given.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() =>
  server.answers((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ asked: request.headers['x-key'] }));
  }),
);

const query = (): Partial<QueryDraft> => ({
  kind: 'http',
  connection: server.url('/v2/'),
  request: {
    method: 'POST',
    path: '/orders/:id/notes',
    query: { tag: '{{ctx.tag}}', none: '{{ctx.none}}' },
    headers: { 'x-key': 'k {{secret:shop}}', 'x-tag': 't-{{ctx.tag}}' },
    body: { text: '{{ctx.text}}', all: '{{ctx}}' },
  },
  parameters: [
    { name: 'id', type: 'string', required: true },
    { name: 'tag', type: 'string', required: false },
    { name: 'none', type: 'string', required: false },
    { name: 'text', type: 'array', required: false, default: ['x'] },
  ],
});
const secrets = { shop: 'planted-shop-secret' };
const asked = (values: JsonObject, more: Partial<Parameters<typeof ask>[0]> = {}) =>
  ask({ query: query(), values, secrets, reach: reachOf(), ...more });

describe('a query over HTTP', () => {
  test('carries its arguments, and nothing of the run', async () => {
    const outcome = await asked({ id: 'a/../b?c', tag: 'x&y' }, { context: { tag: 'of the run', run: 1 } });
    expect(server.seen[0]?.url).toBe('/v2/orders/a%2F..%2Fb%3Fc/notes?tag=x%26y');
    expect(server.seen[0]?.headers).toMatchObject({ 'x-key': 'k planted-shop-secret', 'x-tag': 't-x&y' });
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({
      text: ['x'],
      all: { id: 'a/../b?c', tag: 'x&y', none: null, text: ['x'] },
    });
    expect(outputOf(outcome)).toEqual({ status: 200, body: { asked: 'k [secret:shop]' }, query: 'q', version: 3 });
  });

  test.each(['', '..', '.'])('an argument "%s" cannot change the path', async (id) => {
    expect(await asked({ id })).toMatchObject({ kind: 'failed', failure: { cause: 'invalid', code: 'arguments_invalid' } });
    expect(server.seen).toEqual([]);
  });

  test('an argument that repeats in the path is counted each time', async () => {
    const path = '/:id'.repeat(500);
    const many = { ...query(), request: { method: 'GET', path, query: {}, headers: {}, body: null } } as const;
    expect(await asked({ id: 'x'.repeat(1_200_000) }, { query: many })).toMatchObject({
      kind: 'failed',
      failure: { cause: 'invalid', code: 'context_too_large' },
    });
    expect(server.seen).toEqual([]);
  });

  test('cannot bypass the address rules', async () => {
    const inner = { ...query(), connection: 'http://169.254.169.254' };
    expect(await asked({ id: 'x' }, { query: inner })).toMatchObject({ failure: { code: 'address_forbidden' } });
  });

  test('has its own limits', async () => {
    server.answers((_request, response) => response.end('x'.repeat(1_001)));
    const small = { ...query(), maxBytes: 1_000 };
    expect(await asked({ id: 'x' }, { query: small })).toMatchObject({ failure: { cause: 'invalid', code: 'result_too_large' } });
  });

  test('fails as a request does', async () => {
    server.answers((_request, response) => {
      response.statusCode = 503;
      response.end('no');
    });
    expect(await asked({ id: 'x' })).toMatchObject({ failure: { cause: 'provider_error', code: 'http_status' } });
  });
});

describe('a query that cannot run', () => {
  const run = (query_: () => Promise<{ kind: 'unknown' | 'version_unknown' | 'archived' }>, version?: number) =>
    createAttemptRunner(createRunners(), { query: query_ })(
      planNode('dataQuery', { query: 'find', ...(version === undefined ? {} : { version }) }),
      inputOf(),
      toolsOf(),
    );

  test.each([
    ['unknown', 'query_unknown', 'the query find does not exist'],
    ['version_unknown', 'query_unknown', 'find has no version 2'],
    ['archived', 'query_archived', 'find is archived'],
  ] as const)('%s', async (kind, code, words) => {
    const { outcome } = await run(async () => ({ kind }), 2);
    expect(outcome).toMatchObject({ failure: { cause: 'invalid', code, message: expect.stringContaining(words) } });
  });

  test('because its store is unavailable is retried', async () => {
    const { outcome } = await run(() => Promise.reject(new Error('down')));
    expect(outcome).toMatchObject({ failure: { cause: 'provider_error', code: 'query_unavailable' } });
  });
});

describe('the config', () => {
  test.each([
    [{ query: 'find', inputValues: { a: '{{ctx.b}}', c: 5 } }, []],
    [{ dataQueryID: 'find', args: {} }, []],
    [{}, ['config_invalid /nodes/0/config/query']],
    [{ query: 'a b' }, ['config_invalid /nodes/0/config/query']],
    [{ query: 'a', dataQueryID: 'b' }, ['config_invalid /nodes/0/config/dataQueryID']],
    [{ query: 'a', args: {}, inputValues: {} }, ['config_invalid /nodes/0/config/args']],
    [{ query: 'a', version: 0 }, ['config_invalid /nodes/0/config/version']],
    [{ query: 'a', inputValues: { b: '{{x}}' } }, ['template_invalid /nodes/0/config/inputValues/b']],
    [{ query: 'a', inputValues: { b: '{{secret:s}}' } }, ['secret_misplaced /nodes/0/config/inputValues/b']],
  ])('%j: %j', (config, findings) => {
    expect(found('dataQuery', config)).toEqual(findings);
  });
});
