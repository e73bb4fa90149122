import { describe, expect, test } from 'vitest';
import { http, openGraph, started } from './http.ts';

const napGraph = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'nap', type: 'delay', config: { delayMinutes: 600 } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'nap' },
    { source: 'nap', target: 'end' },
  ],
};

describe('waking', () => {
  test('a sleeping node continues at once, and an event records that it was woken', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: napGraph });
    const { status, body } = await api.call('POST', `/v1/runs/${runId}/wake`, { key });
    expect([status, body]).toEqual([202, { accepted: true, woken: ['nap'] }]);
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).toMatchObject({ status: 'completed' });
    const events = await api.call('GET', `/v1/runs/${runId}/events`, { key });
    expect(events.body['data']).toContainEqual(
      expect.objectContaining({ type: 'node.woken', payload: { nodeId: 'nap', attempt: 1 } }),
    );
  });

  test('nothing to wake is an empty list', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const open = await started(api, key, { graph: openGraph });
    expect((await api.call('POST', `/v1/runs/${open}/wake`, { key })).body).toEqual({ accepted: true, woken: [] });
    const nap = await started(api, key, { name: 'nap', graph: napGraph });
    const other = await api.call('POST', `/v1/runs/${nap}/wake`, { key, body: { nodeIds: ['end'] } });
    expect([other.status, other.body]).toEqual([202, { accepted: true, woken: [] }]);
  });

  test('an ended run is refused, and so are ids that cannot be any', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const ended = await started(api, key);
    expect((await api.call('POST', `/v1/runs/${ended}/wake`, { key })).body).toMatchObject({
      code: 'run_terminal',
      message: expect.stringContaining('completed'),
    });
    const bad = await api.call('POST', `/v1/runs/${ended}/wake`, { key, body: { nodeIds: ['a b'] } });
    expect(bad.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/nodeIds/0' }] });
  });
});

describe('resuming', () => {
  const resume = (key: string, runId: string, more: object = {}) => ({ key, body: { runId, ...more } });

  test('sleeping nodes continue, and events record why', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: napGraph });
    const { status, body } = await api.call('POST', '/v1/runs/resume', resume(key, runId, { reason: 'paid', payload: [1] }));
    expect([status, body]).toEqual([202, { accepted: true }]);
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).toMatchObject({ status: 'completed' });
    const events = await api.call('GET', `/v1/runs/${runId}/events`, { key });
    const told = { type: 'run.resumed', payload: { reason: 'paid', payload: { value: [1] } } };
    expect(events.body['data']).toContainEqual(expect.objectContaining(told));
    expect((await api.call('POST', '/v1/runs/resume', resume(key, runId))).body).toMatchObject({ code: 'run_terminal' });
  });

  test('a body over 64 KB is too large', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: napGraph });
    const { status, body } = await api.call('POST', '/v1/runs/resume', resume(key, runId, { payload: 'x'.repeat(65_536) }));
    expect([status, body['code']]).toEqual([413, 'payload_too_large']);
  });

  test('a run of another project or environment is as unknown', async () => {
    const api = http();
    const runId = await started(api, await api.key(['admin']), { graph: napGraph });
    for (const other of [{ project: 'rival', env: 'test' }, { env: 'live' }]) {
      const foreign = await api.key(['admin'], other);
      for (const id of [runId, 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
        const { status, body } = await api.call('POST', '/v1/runs/resume', resume(foreign, id));
        expect([status, body['code']]).toEqual([404, 'not_found']);
      }
    }
  });
});
