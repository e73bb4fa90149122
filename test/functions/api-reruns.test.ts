import { expect, test } from 'vitest';
import { http, instantGraph, started, textIn } from './http.ts';

const idempotent = (key: string, body: object = {}, name = 'again') => ({ key, body, headers: { 'Idempotency-Key': name } });

test('a rerun is a new run that names the old one, and is listed under it', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const old = await started(api, key, { input: { n: 1 } });
  const first = await api.call('POST', `/v1/runs/${old}/rerun`, idempotent(key));
  const anew = textIn(first, 'runId');
  expect([first.status, first.body]).toEqual([202, { runId: anew, status: 'pending', deploymentId: null, rerunOf: old }]);
  expect(first.headers).toMatchObject({ location: `/v1/runs/${anew}` });
  expect((await api.call('GET', `/v1/runs/${anew}`, { key })).body).toMatchObject({ rerunOf: old, input: { n: 1 } });
  expect((await api.call('GET', `/v1/runs/${old}`, { key })).body).not.toHaveProperty('rerunOf');
  const listed = await api.call('GET', '/v1/runs', { key, query: { rerunOf: old } });
  expect(listed.body).toMatchObject({ data: [{ runId: anew, rerunOf: old }], hasMore: false });

  const again = await api.call('POST', `/v1/runs/${old}/rerun`, idempotent(key));
  expect(again.body).toEqual(first.body);
  expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
});

test('one key means one run to run again', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const [one, other] = [await started(api, key), await started(api, key, { name: 'other' })];
  await api.call('POST', `/v1/runs/${one}/rerun`, idempotent(key));
  expect((await api.call('POST', `/v1/runs/${other}/rerun`, idempotent(key))).body).toMatchObject({
    code: 'idempotency_conflict',
  });
});

test('without a key, of a version that is not there, or with an input that does not fit it is refused', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const args = [{ name: 'to', type: 'string', required: true }];
  const old = await started(api, key, { graph: { ...instantGraph(), options: { args } }, input: { to: 'x' } });
  const path = `/v1/runs/${old}/rerun`;
  expect((await api.call('POST', path, { key })).body).toMatchObject({ code: 'idempotency_required' });
  expect((await api.call('POST', path, idempotent(key, { version: 9 }))).body).toMatchObject({
    code: 'not_found',
    message: 'flow has no version 9.',
  });
  expect((await api.call('POST', path, idempotent(key, { input: { to: 1 } }))).body).toMatchObject({
    code: 'input_invalid',
    errors: [{ pointer: '/input/to' }],
  });
});

test('a rerun replaces outputs of kept nodes, and names each node that it does not keep', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const old = await started(api, key);
  const path = `/v1/runs/${old}/rerun`;
  const ask = (body: object, name?: string) => api.call('POST', path, idempotent(key, body, name));
  const made = await ask({ fromNode: 'end', replace: { start: { output: { repaired: true } } } });
  expect(made.status).toBe(202);
  const { body } = await api.call('GET', `/v1/runs/${textIn(made, 'runId')}`, { key });
  expect(body).toMatchObject({
    nodes: [{ nodeId: 'start', status: 'completed', output: { repaired: true } }, { nodeId: 'end' }],
  });
  const refused = async (replace: object, fromNode?: string) =>
    (await ask({ replace, ...(fromNode === undefined ? {} : { fromNode }) }, 'refused')).body;
  expect(await refused({ end: { output: 1 }, ghost: { output: 1 } }, 'end')).toMatchObject({
    code: 'invalid_request',
    errors: [
      { pointer: '/replace/end', code: 'not_a_kept_node' },
      { pointer: '/replace/ghost', code: 'not_a_kept_node' },
    ],
  });
  expect(await refused({ start: { output: 1 } })).toMatchObject({ errors: [{ pointer: '/replace/start' }] });
  expect(await refused({ start: {} }, 'end')).toMatchObject({ errors: [{ pointer: '/replace/start/output' }] });
  expect(await refused({ start: { output: 1, handle: 'x' } }, 'end')).toMatchObject({
    errors: [{ pointer: '/replace/start/handle' }],
  });
});
