/** Correlation id and trace: in with a request, out with its answer, and on with everything that it sets going. */
import { describe, expect, test } from 'vitest';
import { seconds } from '../../lib/engine/time.ts';
import { type Answered, type Http, http, instantGraph, openGraph, started, textIn } from './http.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const given = { 'X-Workflow-Correlation-Id': 'order 17/retry', Traceparent: `00-${traceId}-b7ad6b7169203331-01` };
const traceOf = ({ headers }: Answered) => headers['traceparent']?.split('-') ?? [];
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('an answer', () => {
  test.each([
    ['of a route', 'GET', '/v1/health'],
    ['without a key', 'GET', '/v1/runs'],
    ['of no route', 'GET', '/v1/nothing'],
  ])('%s has the caller’s correlation id, and the caller’s trace under a span of its own', async (_name, method, path) => {
    const answer = await http().call(method, path, { headers: given });
    expect(answer.headers['x-workflow-correlation-id']).toBe('order 17/retry');
    const [version, trace, span, flags] = traceOf(answer);
    expect([version, trace, flags]).toEqual(['00', traceId, '01']);
    expect(span).toMatch(/^[0-9a-f]{16}$/);
    expect(span).not.toBe('b7ad6b7169203331');
  });

  test('that broke has them too', async () => {
    const api = http(() => ({ workflows: Object.assign(Object.create(null)) }));
    const answer = await api.call('GET', '/v1/workflows', { key: await api.key(['admin']), headers: given });
    expect([answer.status, answer.headers['x-workflow-correlation-id'], traceOf(answer)[1]]).toEqual([
      500,
      'order 17/retry',
      traceId,
    ]);
    expect(api.logs.at(-1)).toMatchObject({ level: 'error', facts: { correlationId: 'order 17/retry', traceId } });
  });

  test('to a request that brought none has fresh ones, each time others', async () => {
    const answers = [await http().call('GET', '/v1/health'), await http().call('GET', '/v1/health')];
    for (const answer of answers) {
      expect(answer.headers['x-workflow-correlation-id']).toMatch(uuid);
      expect(answer.headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    }
    expect(new Set(answers.map((answer) => traceOf(answer)[1])).size).toBe(2);
  });

  test('never repeats what is unfit', async () => {
    const headers = { Traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, 'X-Workflow-Correlation-Id': 'x'.repeat(129) };
    const answer = await http().call('GET', '/v1/health', { headers });
    expect(traceOf(answer)[1]).not.toBe('0'.repeat(32));
    expect(answer.headers['x-workflow-correlation-id']).toMatch(uuid);
  });
});

describe('a run', () => {
  const begun = async (graph: object = openGraph): Promise<readonly [Http, string, string]> => {
    const api = http();
    const key = await api.key(['admin']);
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...graph } });
    const headers = { ...given, 'Idempotency-Key': 'one' };
    const answer = await api.call('POST', '/v1/runs', { key, headers, body: { workflowName: 'flow' } });
    return [api, key, textIn(answer, 'runId')];
  };

  test('keeps those of the request that made it, and shows the correlation id', async () => {
    const [api, key, runId] = await begun();
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).toMatchObject({ correlationId: 'order 17/retry' });
    expect((await api.call('GET', '/v1/runs', { key })).body).toMatchObject({
      data: [{ runId, correlationId: 'order 17/retry' }],
    });
  });

  test('a repetition of its start changes nothing of them', async () => {
    const [api, key, runId] = await begun();
    const headers = { 'X-Workflow-Correlation-Id': 'another', 'Idempotency-Key': 'one' };
    const again = await api.call('POST', '/v1/runs', { key, headers, body: { workflowName: 'flow' } });
    expect([again.status, textIn(again, 'runId')]).toEqual([202, runId]);
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).toMatchObject({ correlationId: 'order 17/retry' });
  });

  test('passes them to its messages, and to messages of later requests', async () => {
    const [api, key, runId] = await begun({
      nodes: [
        ...openGraph.nodes,
        { id: 'nap', type: 'delay', config: { delayMinutes: 600 } },
        { id: 'after', type: 'javascript', config: { code: 'return 1;' } },
      ],
      edges: [
        ...openGraph.edges,
        { source: 'start', target: 'nap' },
        { source: 'nap', target: 'after' },
        { source: 'after', target: 'end' },
      ],
    });
    const expected = { trace: { correlationId: 'order 17/retry', traceparent: expect.stringContaining(traceId) } };
    expect(api.world.jobs.takeSent()).toMatchObject([{ kind: 'node', nodeId: 'work', ...expected }]);
    await api.call('POST', `/v1/runs/${runId}/wake`, { key });
    expect(api.world.jobs.takeSent()).toMatchObject([{ kind: 'node', nodeId: 'after', ...expected }]);
  });

  test('and to the notice of its end', async () => {
    const [api, key, runId] = await begun();
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    expect(api.world.notices.statusNotices).toMatchObject([{ status: 'cancelled', correlationId: 'order 17/retry' }]);
  });

  test('a rerun has the trace of its own request', async () => {
    const [api, key, runId] = await begun();
    const headers = { 'X-Workflow-Correlation-Id': 'rerun', 'Idempotency-Key': 'two' };
    const rerun = await api.call('POST', `/v1/runs/${runId}/rerun`, { key, headers });
    expect((await api.call('GET', `/v1/runs/${textIn(rerun, 'runId')}`, { key })).body).toMatchObject({ correlationId: 'rerun' });
  });

  test('that was made before runs were traced is shown without', async () => {
    const api = http((world) => ({
      log: Object.assign(Object.create(world.log), {
        create: ({ trace: _trace, ...old }: Parameters<typeof world.log.create>[0]) => world.log.create(old),
        head: world.log.head.bind(world.log),
        commitsAfter: world.log.commitsAfter.bind(world.log),
        project: world.log.project.bind(world.log),
        snapshot: world.log.snapshot.bind(world.log),
      }),
    }));
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: instantGraph() });
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).not.toHaveProperty('correlationId');
  });
});

test('log lines say correlation id, trace and run', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key);
  await api.call('GET', `/v1/runs/${runId}`, { key, headers: given });
  expect(api.logs.at(-1)).toMatchObject({
    message: 'request handled',
    facts: { correlationId: 'order 17/retry', traceId, runId, operation: 'getRun', status: 200 },
  });
});

test('the trail is found by correlation id and by run', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key, { graph: openGraph });
  api.world.clock.advance(seconds(1));
  await api.call('POST', `/v1/runs/${runId}/cancel`, { key, headers: given });
  const found = async (query: Record<string, string>) => (await api.call('GET', '/v1/audit', { key, query })).body['data'];
  expect(await found({ correlationId: 'order 17/retry' })).toMatchObject([
    { action: 'runs.cancel', metadata: { traceId, runId } },
  ]);
  expect(await found({ runId })).toMatchObject([{ action: 'runs.cancel' }, { action: 'runs.create' }]);
  expect(await found({ correlationId: 'nobody’s'.replace('’', '') })).toEqual([]);
});
