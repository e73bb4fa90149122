/** Test runs and views over HTTP. */
import { expect, test } from 'vitest';
import { http, instantGraph, openGraph, started, textIn } from './http.ts';

const withKey = async () => {
  const api = http();
  return { api, key: await api.key(['admin']) };
};

test('a test run is begun, seen, left out of lists, and stopped without a trace', async () => {
  const { api, key } = await withKey();
  const begun = await api.call('POST', '/v1/workflows/test', { key, body: { ...openGraph, input: { a: 1 } } });
  expect([begun.status, begun.body]).toEqual([202, { runId: expect.stringMatching(/^wrun_/), isTest: true }]);
  const runId = textIn(begun, 'runId');
  expect(begun.headers).toMatchObject({ location: `/v1/runs/${runId}` });
  expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).toMatchObject({
    isTest: true,
    workflowName: 'unsaved',
    workflowVersion: null,
    status: 'pending',
    input: { a: 1 },
  });
  expect((await api.call('GET', '/v1/runs', { key })).body).toMatchObject({ data: [] });
  expect((await api.call('GET', '/v1/runs', { key, query: { includeTests: 'true' } })).body).toMatchObject({
    data: [{ runId, isTest: true }],
  });
  const stopped = await api.call('POST', `/v1/runs/${runId}/stop`, { key });
  expect([stopped.status, stopped.body]).toEqual([200, { runId, deleted: true }]);
  expect((await api.call('GET', `/v1/runs/${runId}`, { key })).status).toBe(404);
  expect((await api.call('GET', '/v1/runs', { key, query: { includeTests: 'true' } })).body).toMatchObject({ data: [] });
});

test('the same key is the same test, and another graph under it a conflict', async () => {
  const { api, key } = await withKey();
  const ask = (body: object) => api.call('POST', '/v1/workflows/test', { key, body, headers: { 'Idempotency-Key': 'k' } });
  const [one, two] = [await ask(openGraph), await ask(openGraph)];
  expect([two.body['runId'], two.headers['idempotency-replayed']]).toEqual([one.body['runId'], 'true']);
  expect((await ask(instantGraph())).body).toMatchObject({ code: 'idempotency_conflict' });
  const without = await api.call('POST', '/v1/workflows/test', { key, body: openGraph });
  expect(without.body['runId']).not.toBe(one.body['runId']);
});

test('older spellings of edges are accepted, and every finding has its JSON pointer', async () => {
  const { api, key } = await withKey();
  const edges = [{ source: 'start', target: 'end', source_handle: 'sideways' }];
  const pinned = { start: { output: 1 }, end: { output: 2 }, none: { output: 3 } };
  const { status, body } = await api.call('POST', '/v1/workflows/test', { key, body: { ...instantGraph(), edges, pinned } });
  expect([status, body]).toMatchObject([
    400,
    {
      code: 'definition_invalid',
      errors: [
        { code: 'unknown_handle', pointer: '/edges/0/sourceHandle' },
        { code: 'unknown_handle', pointer: '/pinned/end' },
        { code: 'pinned_node_unknown', pointer: '/pinned/none' },
      ],
    },
  ]);
  const older = await api.call('POST', '/v1/workflows/test', { key, body: { ...openGraph, inputParams: { a: 1 } } });
  expect((await api.call('GET', `/v1/runs/${textIn(older, 'runId')}`, { key })).body).toMatchObject({ input: { a: 1 } });
  const bare = await api.call('POST', '/v1/workflows/test', { key, body: { ...instantGraph(), pinned: { start: 1 } } });
  expect(bare.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/pinned/start' }] });
});

test('a pinned node is marked', async () => {
  const { api, key } = await withKey();
  const body = { ...openGraph, pinned: { work: { output: 7 } } };
  const begun = await api.call('POST', '/v1/workflows/test', { key, body });
  expect((await api.call('GET', `/v1/runs/${textIn(begun, 'runId')}`, { key })).body).toMatchObject({
    status: 'completed',
    nodes: [{ nodeId: 'start' }, { nodeId: 'work', isPinned: true, output: 7 }, { nodeId: 'end' }],
  });
});

test('a view is what a widget shows; a wrong template is told with its place', async () => {
  const { api, key } = await withKey();
  const runId = await started(api, key, { input: { name: 'Ada' } });
  const view = (config: unknown) => api.call('POST', `/v1/runs/${runId}/view`, { key, body: { config } });
  expect((await view({ title: 'For {{ctx.input.name}}', all: '{{ctx.__node_start}}' })).body).toEqual({
    view: { title: 'For Ada', all: null },
    status: 'completed',
    lastEventId: expect.any(Number),
  });
  const widget = { widgetType: 'chart', widgetConfig: { name: '{{ctx.input.name}}' } };
  expect((await api.call('POST', `/v1/runs/${runId}/view`, { key, body: widget })).body).toMatchObject({
    view: { name: 'Ada' },
    widgetType: 'chart',
  });
  expect((await view({ list: ['{{ctx.a()}}'] })).body).toMatchObject({
    code: 'invalid_request',
    errors: [{ pointer: '/config/list/0', code: 'template_invalid' }],
  });
});
