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

describe('a list of runs with their waits', () => {
  const rowsOf = async (
    api: Awaited<ReturnType<typeof waiting>>['api'],
    key: string,
    query: Readonly<Record<string, string>>,
  ) => {
    const { status, body } = await api.call('GET', '/v1/runs', { key, query: { includeWaits: 'true', ...query } });
    expect(status).toBe(200);
    const row = z.looseObject({
      runId: z.string(),
      waits: z.array(z.looseObject({})).optional(),
      waitsOmitted: z.int().optional(),
    });
    return z.looseObject({ data: z.array(row), hasMore: z.boolean() }).parse(body);
  };

  test('has the signals for which running runs wait, as their logs have them', async () => {
    const { api, key, runId } = await waiting({ ...paid, expiresInSeconds: 3_600 });
    const expected = { nodeId: 'wait', signal: 'paid', correlation: 'order-7', since: '2026-01-01T00:00:00.000Z' };
    expect((await rowsOf(api, key, {})).data).toMatchObject([
      { runId, waits: [{ ...expected, until: '2026-01-01T01:00:00.000Z' }] },
    ]);
    expect((await api.call('GET', '/v1/runs', { key })).body['data']).not.toMatchObject([{ waits: expect.anything() }]);
    await api.call('POST', '/v1/signals', { key, body: { ...paid, payload: {} } });
    const [ended] = (await rowsOf(api, key, {})).data;
    expect(ended).toMatchObject({ runId, status: 'completed' });
    expect(ended).not.toHaveProperty('waits');
  });

  test('has each iteration of a loop, up to a hundred of a run, and the number of the others', async () => {
    const { api, key } = await waiting();
    const graph = {
      nodes: [
        { id: 'start', type: 'start' },
        { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.ids}}', concurrency: 120 } },
        { id: 'ask', type: 'signal', config: { name: 'asked', correlation: '{{ctx.item}}' } },
        { id: 'end', type: 'end' },
      ],
      edges: [
        { source: 'start', target: 'each' },
        { source: 'each', target: 'ask', sourceHandle: 'loop' },
        { source: 'each', target: 'end', sourceHandle: 'done' },
      ],
    };
    await started(api, key, { name: 'many', graph, input: { ids: Array.from({ length: 120 }, (_, n) => `c${n}`) } });
    const [many] = (await rowsOf(api, key, { workflowName: 'many' })).data;
    const waits = many?.waits ?? [];
    expect([waits.length, many?.waitsOmitted]).toEqual([100, 20]);
    expect(waits[7]).toMatchObject({ nodeId: 'ask', iteration: 'each[7]', signal: 'asked', correlation: 'c7' });
  });

  test('reads the logs of at most 25 runs, and its pages have every run once', async () => {
    const { api } = await waiting();
    const key = await api.key(['admin'], { rateLimitPerMinute: null });
    for (let n = 1; n < 60; n += 1) await started(api, key, { graph: graphOf(paid), input: { n } });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await api.call('GET', '/v1/runs', {
        key,
        query: { includeWaits: 'true', limit: '100', ...(cursor === undefined ? {} : { cursor }) },
      });
      const page = z
        .looseObject({ data: z.array(z.looseObject({ runId: z.string() })), cursor: z.string().nullable() })
        .parse(body);
      expect(page.data.length).toBeLessThanOrEqual(25);
      seen.push(...page.data.map(({ runId }) => runId));
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    expect([seen.length, new Set(seen).size]).toEqual([60, 60]);
  });

  test('has nothing of another project', async () => {
    const { api } = await waiting();
    expect((await rowsOf(api, await api.key(['runs:read'], { project: 'other' }), {})).data).toEqual([]);
  });
});
