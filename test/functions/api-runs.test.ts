import { describe, expect, test } from 'vitest';
import { hours, minutes } from '../../lib/engine/time.ts';
import { http, instantGraph, openGraph, started, textIn } from './http.ts';

const idempotent = (key: string, body: object, name = 'k') => ({ key, body, headers: { 'Idempotency-Key': name } });

describe('starting', () => {
  test('a start is acknowledged with its run, and repeated with the same answer', async () => {
    const api = http();
    const key = await api.key(['trigger:write', 'workflows:write']);
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    const first = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', input: { b: 1, a: 2 } }));
    expect(first.status).toBe(202);
    expect(first.body).toEqual({ runId: expect.stringMatching(/^wrun_/), status: 'pending', deploymentId: null });
    expect(first.headers).toMatchObject({ location: `/v1/runs/${textIn(first, 'runId')}` });
    expect(first.headers).not.toHaveProperty('idempotency-replayed');

    // The order of keys, a default said aloud and quotes around the key change nothing.
    const again = await api.call(
      'POST',
      '/v1/runs',
      idempotent(key, { specVersion: 1, input: { a: 2, b: 1 }, workflowName: 'flow' }, '"k"'),
    );
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });

    // Nor does an older name of the input.
    const older = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', inputParams: { a: 2, b: 1 } }));
    expect([older.status, older.body]).toEqual([202, first.body]);
    const both = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', input: 1, inputValues: 2 }, 'k2'));
    expect(both.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/inputValues', code: 'unknown_key' }] });
  });

  test('a request that was refused before it tried anything releases its key', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const start = idempotent(key, { workflowName: 'flow' });
    expect((await api.call('POST', '/v1/runs', start)).status).toBe(409);
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    expect((await api.call('POST', '/v1/runs', start)).status).toBe(202);
  });

  test('declared arguments are checked, and defaults filled in', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const args = [
      { name: 'to', type: 'string', required: true },
      { name: 'copies', type: 'number', default: 2 },
    ];
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph(), options: { args } } });
    const refused = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', input: { copies: 'x', cc: 1 } }));
    expect(refused.body).toMatchObject({
      code: 'input_invalid',
      errors: [{ pointer: '/input/to' }, { pointer: '/input/copies' }, { pointer: '/input/cc' }],
    });
    const begun = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', input: { to: 'x' } }));
    const run = await api.call('GET', `/v1/runs/${textIn(begun, 'runId')}`, { key });
    expect(run.body).toMatchObject({ input: { to: 'x', copies: 2 }, output: { given: { to: 'x', copies: 2 } } });
  });

  test('a start can name a version of the graph, and the key then stands for that version', async () => {
    const api = http();
    const key = await api.key(['admin']);
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    const options = { args: [{ name: 'to', type: 'string', required: true }] };
    await api.call('POST', '/v1/workflows/flow/versions', { key, body: { ...instantGraph(), options } });
    const start = (body: object, name?: string) =>
      api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', ...body }, name));
    const first = await start({ version: 1 });
    expect(first.status).toBe(202);
    expect((await api.call('GET', `/v1/runs/${textIn(first, 'runId')}`, { key })).body).toMatchObject({ workflowVersion: 1 });
    const again = await start({ version: 1 });
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
    for (const other of [{ version: 2, input: { to: 'x' } }, { version: 2 }, {}])
      expect((await start(other)).body).toMatchObject({ code: 'idempotency_conflict' });
    // Each version checks its own arguments.
    expect((await start({ version: 2 }, 'k2')).body).toMatchObject({ code: 'input_invalid', errors: [{ pointer: '/input/to' }] });
    const second = await start({ version: 2, input: { to: 'x' } }, 'k3');
    expect((await api.call('GET', `/v1/runs/${textIn(second, 'runId')}`, { key })).body).toMatchObject({ workflowVersion: 2 });
  });

  test('a version that cannot start is refused, and releases the key', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const start = (body: object) => api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', version: 2, ...body }));
    expect(await start({})).toMatchObject({
      status: 404,
      body: { code: 'workflow_not_found', message: expect.stringContaining('published graph') },
    });
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    expect(await start({})).toMatchObject({ status: 404, body: { code: 'not_found', message: 'flow has no version 2.' } });
    expect(await start({ workflowName: 'workflow//./a//b' })).toMatchObject({ body: { code: 'workflow_not_found' } });
    expect(await start({ deploymentId: 'd' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ pointer: '/version', code: 'excluded' }] },
    });
    for (const version of [0, -1, 1.5, '1', null])
      expect((await start({ version })).body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/version' }] });
    await api.call('POST', '/v1/workflows/flow/versions', { key, body: instantGraph() });
    expect((await start({})).status).toBe(202);
    await api.call('DELETE', '/v1/workflows/flow', { key });
    const archived = idempotent(key, { workflowName: 'flow', version: 1 }, 'k2');
    expect((await api.call('POST', '/v1/runs', archived)).body).toMatchObject({ code: 'workflow_archived' });
  });

  test('times out of range are refused with their JSON pointers', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const far = { availableAt: '2028-01-01T00:00:00Z', deadlineAt: '2027-06-01T00:00:00+02:00' };
    const { body } = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', ...far }));
    expect(body).toMatchObject({
      code: 'invalid_request',
      errors: [
        { pointer: '/availableAt', code: 'too_late' },
        { pointer: '/deadlineAt', code: 'too_late' },
        { pointer: '/deadlineAt', code: 'too_early' },
      ],
    });
    const passed = idempotent(key, { workflowName: 'flow', deadlineAt: new Date(api.world.clock.now()).toISOString() });
    expect(await api.call('POST', '/v1/runs', passed)).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_request',
        errors: [{ pointer: '/deadlineAt', code: 'too_early', message: 'must be in the future' }],
      },
    });
    const vague = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', deadlineAt: '2026-01-02' }));
    expect(vague.body).toMatchObject({ errors: [{ pointer: '/deadlineAt' }] });
  });

  test('a deployment that is not there cannot run anything', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const { body } = await api.call('POST', '/v1/runs', idempotent(key, { workflowName: 'flow', deploymentId: 'dep_1' }));
    expect(body).toMatchObject({ code: 'not_found' });
  });
});

describe('reading', () => {
  test('an ended run shows its input, output and nodes in the order of the definition', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { input: { n: 1 } });
    const { body } = await api.call('GET', `/v1/runs/${runId}`, { key });
    expect(body).toMatchObject({
      runId,
      status: 'completed',
      workflowName: 'flow',
      workflowVersion: 1,
      input: { n: 1 },
      output: { given: { n: 1 } },
      createdAt: '2026-01-01T00:00:00.000Z',
      completedAt: '2026-01-01T00:00:00.000Z',
      deadlineAt: '2026-01-08T00:00:00.000Z',
      nodes: [
        { nodeId: 'start', type: 'start', status: 'completed', attempt: 1, durationMs: 0 },
        { nodeId: 'end', type: 'end', label: 'The end', status: 'completed' },
      ],
    });
    expect(JSON.stringify(body)).not.toContain('"__');
  });

  test('an open run shows what has not begun as pending, a cancelled one as cancelled', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    const open = await api.call('GET', `/v1/runs/${runId}`, { key });
    expect(open.body).toMatchObject({
      status: 'pending',
      nodes: [{ status: 'completed' }, { nodeId: 'work', status: 'queued', attempt: 1 }, { status: 'pending', attempt: 0 }],
    });
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key, body: { reason: 'no longer needed' } });
    const { body } = await api.call('GET', `/v1/runs/${runId}`, { key });
    expect(body).toMatchObject({
      status: 'cancelled',
      cancelReason: 'no longer needed',
      nodes: [{ status: 'completed' }, { status: 'cancelled' }, { status: 'cancelled', attempt: 0 }],
    });
  });

  test('a failed run says why', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: instantGraph('error') });
    const { body } = await api.call('GET', `/v1/runs/${runId}`, { key });
    expect(body).toMatchObject({ status: 'failed', error: { cause: expect.any(String), code: expect.any(String) } });
  });

  test('values are omitted when not requested, and when they are too large together', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const text = 'x'.repeat(900_000);
    const nodes = [
      { id: 'start', type: 'start' },
      ...[1, 2, 3, 4].map((n) => ({
        id: `end${n}`,
        type: 'end',
        config: { outputParameters: [{ name: 'a', sourceVariable: '{{ctx.input}}' }] },
      })),
    ];
    const edges = [1, 2, 3, 4].map((n) => ({ source: 'start', target: `end${n}` }));
    const runId = await started(api, key, { graph: { nodes, edges }, input: { text } });
    const bare = await api.call('GET', `/v1/runs/${runId}`, { key, query: { resolveData: 'none' } });
    expect(bare.body).not.toHaveProperty('input');
    const { body } = await api.call('GET', `/v1/runs/${runId}`, { key });
    expect(JSON.stringify(body).length).toBeLessThan(5_000_000);
    expect(body['input']).toEqual({ text });
    expect(JSON.stringify(body)).toContain('"outputOmitted":{"bytes":9');
  });
});

describe('cancelling', () => {
  test('once more changes nothing, and an ended run stays as it ended', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
      expect([status, body]).toEqual([200, { runId, status: 'cancelled' }]);
    }
    const ended = await started(api, key, { name: 'instant' });
    const refused = await api.call('POST', `/v1/runs/${ended}/cancel`, { key });
    expect(refused.body).toMatchObject({ code: 'run_terminal', message: expect.stringContaining('completed') });
  });
});

describe('listing', () => {
  test('filters hold what they say, newest first, page by page', async () => {
    const api = http();
    const key = await api.key(['admin'], { rateLimitPerMinute: null });
    const ids: Record<string, string> = {};
    for (const [name, graph] of Object.entries({
      done: instantGraph(),
      bad: instantGraph('error'),
      open: openGraph,
      gone: openGraph,
    })) {
      ids[name] = await started(api, key, { name, graph });
      api.world.clock.advance(hours(1));
    }
    await api.call('POST', `/v1/runs/${ids['gone']}/cancel`, { key });
    const list = async (query: Record<string, string>) => {
      const { body } = await api.call('GET', '/v1/runs', { key, query });
      return body['data'];
    };
    const of = (...names: readonly string[]) => names.map((name) => expect.objectContaining({ runId: ids[name] }));
    expect(await list({})).toEqual(of('gone', 'open', 'bad', 'done'));
    expect(await list({ status: 'pending' })).toEqual(of('open'));
    expect(await list({ status: 'completed' })).toEqual(of('done'));
    expect(await list({ status: 'failed' })).toEqual(of('bad'));
    expect(await list({ status: 'cancelled' })).toEqual(of('gone'));
    expect(await list({ attention: 'waiting' })).toEqual([]);
    expect(await list({ workflowName: 'bad' })).toEqual(of('bad'));
    expect(await list({ createdAfter: '2026-01-01T01:00:00Z' })).toEqual(of('gone', 'open', 'bad'));
    expect(await list({ createdBefore: '2026-01-01T01:00:00Z' })).toEqual(of('done'));

    const pages: unknown[] = [];
    let cursor: unknown;
    do {
      const { body } = await api.call('GET', '/v1/runs', {
        key,
        query: { limit: '3', ...(typeof cursor === 'string' ? { cursor } : {}) },
      });
      pages.push(body['data']);
      cursor = body['cursor'];
    } while (cursor !== null && pages.length < 5);
    expect(pages.flat()).toEqual(of('gone', 'open', 'bad', 'done'));
  });

  test('a run whose head is late is listed as what its log says', async () => {
    const api = http((world) => ({
      log: new Proxy(world.log, {
        get: (target, name) => {
          if (name === 'project') return () => Promise.resolve();
          const held: unknown = Reflect.get(target, name);
          return typeof held === 'function' ? held.bind(target) : held;
        },
      }),
    }));
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    const statuses = async () => (await api.call('GET', '/v1/runs', { key })).body['data'];
    expect(await statuses()).toMatchObject([{ runId, status: 'pending' }]);
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    expect(await statuses()).toMatchObject([{ runId, status: 'cancelled' }]);
  });

  test('the filters by origin are checked, and are part of a cursor', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const first = await started(api, key);
    await started(api, key, { input: { n: 2 } });
    const list = (query: Readonly<Record<string, string>>) => api.call('GET', '/v1/runs', { key, query });
    expect((await list({ version: '1' })).body['data']).toHaveLength(2);
    expect((await list({ version: '2' })).body).toMatchObject({ data: [], hasMore: false });
    const page = await list({ version: '1', limit: '1' });
    const cursor = textIn(page, 'cursor');
    expect((await list({ version: '1', limit: '1', cursor })).body).toMatchObject({ data: [{ runId: first }] });
    expect((await list({ version: '2', limit: '1', cursor })).body).toMatchObject({ code: 'cursor_invalid' });
    for (const query of [{ calledBy: 'x' }, { scheduleId: '/' }, { deploymentId: '?' }, { correlationId: ' ' }])
      expect((await list(query)).body).toMatchObject({ code: 'invalid_request' });
  });

  test('a search finds runs behind many filtered ones, with any limit', async () => {
    const api = http();
    const key = await api.key(['admin'], { rateLimitPerMinute: null });
    const wanted = await started(api, key, { name: 'old' });
    for (let n = 0; n < 12; n += 1) {
      api.world.clock.advance(minutes(1));
      await started(api, key, { name: 'new', input: { n } });
    }
    const query = { workflowName: 'old', limit: '1' };
    const found = await api.call('GET', '/v1/runs', { key, query });
    expect(found.body).toMatchObject({ data: [{ runId: wanted }], cursor: null, hasMore: false });
  });
});

test('a run shows the number of its commits, and lists do not', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const id = await started(api, key, { graph: openGraph });
  expect((await api.call('GET', `/v1/runs/${id}`, { key })).body).toMatchObject({ commits: 1 });
  await api.call('POST', `/v1/runs/${id}/cancel`, { key });
  expect((await api.call('GET', `/v1/runs/${id}`, { key })).body).toMatchObject({ status: 'cancelled', commits: 2 });
  expect(JSON.stringify((await api.call('GET', '/v1/runs', { key })).body)).not.toContain('commits');
});

test('the definition of a run is that of its version, and of a test run the unsaved graph with its pins', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const definition = (id: string) => api.call('GET', `/v1/runs/${id}/definition`, { key });
  const old = await started(api, key, { graph: openGraph });
  await api.call('POST', '/v1/workflows/flow/versions', { key, body: instantGraph() });
  const first = await definition(old);
  expect([first.status, first.body]).toMatchObject([
    200,
    { runId: old, workflowName: 'flow', version: 1, edges: openGraph.edges },
  ]);
  const pinned = { work: { output: { n: 1 } } };
  const tested = await api.call('POST', '/v1/workflows/test', { key, body: { ...openGraph, pinned } });
  const unsaved = (await definition(textIn(tested, 'runId'))).body;
  expect(unsaved).toMatchObject({ version: null, edges: openGraph.edges, pinned });
  expect(first.body).not.toHaveProperty('pinned');
  expect((await definition('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV')).body).toMatchObject({ code: 'not_found' });
  expect((await definition('nonsense')).body).toMatchObject({ code: 'not_found' });
  expect((await definition('123e4567-e89b-82d3-a456-426614000000')).body).toMatchObject({ code: 'external_run' });
});

test('a node of a run shows its context as of its dispatch, its config after templates, and its attempts', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const yes = { id: 'yes', conditions: [{ leftValue: '{{ctx.input.id}}', operator: 'greater_than', rightValue: 100 }] };
  const graph = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'big', type: 'condition', config: { branches: [yes], defaultBranch: 'no', outputVariable: 'size' } },
      { id: 'wait', type: 'signal', config: { name: 'paid', correlation: 'order-{{ctx.input.id}}' } },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { source: 'start', target: 'big' },
      { source: 'big', target: 'wait', sourceHandle: 'no', targetParamLabel: 'from' },
      { source: 'wait', target: 'end' },
    ],
  };
  const run = await started(api, key, { graph, input: { id: 7 } });
  const node = async (id: string, query: Readonly<Record<string, string>> = {}) =>
    api.call('GET', `/v1/runs/${run}/nodes/${id}`, { key, query });
  const waiting = await node('wait');
  expect(waiting.body).toMatchObject({
    runId: run,
    node: { nodeId: 'wait', status: 'waiting', waitingFor: { signal: 'paid', correlation: 'order-7' } },
    config: { name: 'paid', correlation: 'order-7' },
    attempts: [{ attempt: 1, status: 'waiting' }],
  });
  const [before, after] = [(await node('big')).body['context'], waiting.body['context']];
  expect(before).toEqual({ input: { id: 7 } });
  expect(after).toMatchObject({ input: { id: 7 }, size: expect.anything() });
  expect(waiting.body['inputs']).toMatchObject({ id: 7, from: expect.anything() });
  expect((await node('end')).body).toMatchObject({ node: { status: 'pending' }, attempts: [] });
  expect((await node('wait', { attempt: '2' })).body['attempts']).toEqual([]);
  expect((await node('none')).body).toMatchObject({ code: 'not_found', message: 'The run has no node none.' });
  expect((await node('wait', { iteration: '../x' })).body).toMatchObject({ code: 'invalid_request' });
  const reader = await api.key(['trigger:write']);
  expect((await api.call('GET', `/v1/runs/${run}/nodes/wait`, { key: reader })).status).toBe(403);
  const other = await api.key(['admin'], { env: 'prod' });
  expect((await api.call('GET', `/v1/runs/${run}/nodes/wait`, { key: other })).body).toMatchObject({ code: 'not_found' });
});

test('a run has its size and cost only where they are asked for', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const id = await started(api, key);
  const run = async (query: Readonly<Record<string, string>>) => (await api.call('GET', `/v1/runs/${id}`, { key, query })).body;
  expect(await run({})).not.toHaveProperty('estimate');
  const { bytes, estimate } = await run({ estimate: 'true', resolveData: 'none' });
  expect(bytes).toBeGreaterThan(100);
  expect((await run({ nodes: 'none' }))['nodes']).toEqual([]);
  // One commit, the entries of the list and of the sweep, the idempotency record and the audit entry, and the end.
  expect(estimate).toMatchObject({
    dollars: expect.closeTo(0.000_009, 6),
    parts: [
      { kind: 'writeUnits', count: 6, dollars: expect.closeTo(6 * 0.625e-6, 9) },
      { kind: 'readUnits', count: 1 },
      { kind: 'invocations', count: 1 },
      { kind: 'apiRequests', count: 1, dollars: expect.closeTo(3.5e-6, 9) },
      { kind: 'busEvents', count: 1 },
    ],
  });
});

test('the timeline of a run has its attempts in compact rows, after a cursor', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const id = await started(api, key);
  const read = (query: Readonly<Record<string, string>> = {}) => api.call('GET', `/v1/runs/${id}/timeline`, { key, query });
  const { body } = await read();
  expect(body).toMatchObject({ runId: id, nodes: ['start', 'end'], hasMore: false });
  expect(body['rows']).toEqual([
    [0, null, 1, null, expect.any(Number), expect.any(Number), 'completed', null, expect.any(Number)],
    [1, null, 1, null, expect.any(Number), expect.any(Number), 'completed', null, expect.any(Number)],
  ]);
  expect((await read({ after: textIn({ body }, 'cursor') })).body).toMatchObject({ rows: [], cursor: body['cursor'] });
  expect((await read({ limit: '1' })).body).toMatchObject({ nodes: ['start'], hasMore: true });
  expect((await read({ after: '-1' })).body).toMatchObject({ code: 'cursor_invalid' });
  const missing = await api.call('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/timeline', { key });
  expect(missing.body).toMatchObject({ code: 'not_found' });
});
