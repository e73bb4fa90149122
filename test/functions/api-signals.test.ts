import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { http, started } from './http.ts';

const graphOf = (config: object) => ({
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'wait', type: 'signal', config },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'wait' },
    { source: 'wait', target: 'end' },
  ],
});
const paid = { name: 'paid', correlation: 'order-7' };

const waiting = async (config: object = paid) => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key, { graph: graphOf(config) });
  return { api, key, runId, run: async () => (await api.call('GET', `/v1/runs/${runId}`, { key })).body };
};

test('a waiting run shows its signal or child and its timeout', async () => {
  const forEver = await waiting();
  expect(await forEver.run()).toMatchObject({
    nodes: [{}, { status: 'waiting', waitingFor: { signal: 'paid', correlation: 'order-7' } }, {}],
  });
  const { run, runId } = await waiting({ name: 'paid', expiresInSeconds: 3_600 });
  expect(await run()).toMatchObject({
    nodes: [{}, { waitingFor: { signal: 'paid', correlation: runId, until: '2026-01-01T01:00:00.000Z' } }, {}],
  });
});

describe('a signal', () => {
  test('that a run awaits continues it, and events record both', async () => {
    const { api, key, run, runId } = await waiting();
    const { status, body } = await api.call('POST', '/v1/signals', { key, body: { ...paid, payload: { amount: 3 } } });
    expect([status, body]).toEqual([202, { signalId: expect.stringMatching(/^sig_/), delivered: true, workflowRunIds: [runId] }]);
    const { signalId } = z.object({ signalId: z.string() }).parse(body);
    expect(await run()).toMatchObject({
      status: 'completed',
      nodes: [{}, { output: { ...paid, payload: { amount: 3 }, signalId } }, {}],
    });
    const events = (await api.call('GET', `/v1/runs/${runId}/events`, { key })).body['data'];
    const told = { nodeId: 'wait', attempt: 1, ...paid };
    expect(events).toContainEqual(expect.objectContaining({ type: 'signal.awaited', payload: told }));
    expect(events).toContainEqual(expect.objectContaining({ type: 'signal.received', payload: { ...told, signalId } }));
  });

  test('is sent to a run by its id', async () => {
    const { api, key, run, runId } = await waiting({ name: 'paid' });
    const { status, body } = await api.call('POST', `/v1/runs/${runId}/signals`, {
      key,
      body: { name: 'paid', signalId: 'mine' },
    });
    expect([status, body]).toEqual([202, { signalId: 'mine', delivered: true, workflowRunIds: [runId] }]);
    expect(await run()).toMatchObject({ status: 'completed', nodes: [{}, { output: { payload: null } }, {}] });
    const ended = await api.call('POST', `/v1/runs/${runId}/signals`, { key, body: { name: 'paid' } });
    expect(ended.body).toMatchObject({ code: 'run_terminal', message: expect.stringContaining('completed') });
  });

  test('that no run awaits is stored, and a repetition is the same signal', async () => {
    const { api, key } = await waiting({ name: 'refunded' });
    const headers = { 'Idempotency-Key': 'k' };
    const first = await api.call('POST', '/v1/signals', { key, headers, body: paid });
    expect([first.status, first.body['delivered'], first.headers['idempotency-replayed']]).toEqual([202, false, undefined]);
    const again = await api.call('POST', '/v1/signals', { key, headers, body: paid });
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, first.body, 'true']);
    const other = await api.call('POST', '/v1/signals', { key, headers, body: { ...paid, payload: 1 } });
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_conflict']);
  });

  test.each([
    [{ name: 'paid' }, '/correlation'],
    [{ ...paid, name: '' }, '/name'],
    [{ ...paid, correlation: 'x'.repeat(257) }, '/correlation'],
    [{ ...paid, signalId: 'a b' }, '/signalId'],
    [{ ...paid, expiresInSeconds: 2_592_001 }, '/expiresInSeconds'],
    [{ ...paid, expiresInSeconds: 0 }, '/expiresInSeconds'],
  ])('%j is refused at %s', async (body, pointer) => {
    const api = http();
    const refused = await api.call('POST', '/v1/signals', { key: await api.key(['runs:write']), body });
    expect(refused.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
  });

  test('over 64 KB is too large, and leaves no trace', async () => {
    const { api, key, run } = await waiting();
    const body = { ...paid, payload: 'x'.repeat(65_536) };
    expect((await api.call('POST', '/v1/signals', { key, body })).status).toBe(413);
    expect(await run()).toMatchObject({ status: 'pending' });
  });

  test('of one project or environment reaches no other, and no run by its id', async () => {
    const { api, run, runId } = await waiting();
    for (const scope of [{ project: 'rival', env: 'test' }, { env: 'live' }]) {
      const other = await api.key(['admin'], scope);
      expect((await api.call('POST', '/v1/signals', { key: other, body: paid })).body).toMatchObject({ delivered: false });
      expect((await api.call('POST', `/v1/runs/${runId}/signals`, { key: other, body: { name: 'paid' } })).status).toBe(404);
    }
    expect(await run()).toMatchObject({ status: 'pending' });
  });

  test('is in the audit trail, without what it brings', async () => {
    const { api, key } = await waiting();
    await api.call('POST', '/v1/signals', { key, body: { ...paid, payload: 'secret' } });
    const entry = [...api.world.audit.entries.values()].find(({ action }) => action === 'signals.send');
    expect(entry).toMatchObject({
      result: 'success',
      resource: 'signal/paid',
      metadata: { correlation: 'order-7', delivered: true },
    });
    expect(JSON.stringify(entry)).not.toContain('secret');
  });
});
