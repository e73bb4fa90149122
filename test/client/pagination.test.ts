/** Pagination, following events and waiting for results. */
import { describe, expect, test } from 'vitest';
import { mapEngineEventToSse } from '../../lib/engine/log/event-names.ts';
import { isFinalEvent } from '../../lib/client/route-types.ts';
import { type StepwellClient, TransportComputeClientError } from '../../lib/client/index.ts';
import { networkError, json, createTestClient, errorResponse } from './test-client.ts';

const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
const time = '2026-01-01T00:00:00.000Z';
const facts = {
  runId,
  workflowName: 'flow',
  workflowVersion: 1,
  deploymentId: null,
  specVersion: 1,
  createdAt: time,
  deadlineAt: time,
};
const run = (status: string, more: object = {}) => json(200, { ...facts, status, nodes: [], lastEventId: 1, ...more });
const event = (eventId: number, type: string) => ({ eventId, sequence: eventId, type, runId, timestamp: time, payload: {} });
const events = (after: number, types: readonly string[], hasMore = false) =>
  json(200, { data: types.map((type, index) => event(after + index + 1, type)), cursor: String(after + types.length), hasMore });

const all = async <Row>(rows: AsyncIterable<Row>): Promise<Row[]> => {
  const found: Row[] = [];
  for await (const row of rows) found.push(row);
  return found;
};

describe('pages', () => {
  const page = (names: readonly string[], cursor: string | null) =>
    json(200, {
      data: names.map((name) => ({ name, latestVersion: 1, createdAt: time, updatedAt: time })),
      cursor,
      hasMore: cursor !== null,
    });

  test('are read by cursor with the same filters until the end', async () => {
    const { client, sent, runToEnd } = createTestClient([page(['a', 'b'], 'c1'), page([], 'c2'), page(['c'], null)]);
    const rows = await runToEnd(all(client.eachWorkflow({ archived: 'true' })));
    expect(rows.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(sent.map(({ path }) => path.split('?')[1])).toEqual([
      'archived=true',
      'archived=true&cursor=c1',
      'archived=true&cursor=c2',
    ]);
  });

  test('are read only as far as the caller iterates', async () => {
    const { client, sent, runToEnd } = createTestClient([page(['a', 'b'], 'c1')]);
    const first = async (): Promise<unknown> => {
      for await (const { name } of client.eachWorkflow()) return name;
      return undefined;
    };
    expect(await runToEnd(first())).toBe('a');
    expect(sent).toHaveLength(1);
  });

  test.each<[string, string, (client: StepwellClient) => Promise<unknown>]>([
    ['runs', '/v1/runs?status=failed', (client: StepwellClient) => client.listRuns({ status: 'failed' })],
    ['keys', '/v1/keys?limit=5', (client: StepwellClient) => client.listKeys({ limit: 5 })],
    ['deployments', '/v1/deployments?limit=5', (client: StepwellClient) => client.listDeployments({ limit: 5 })],
    ['audit entries', '/v1/audit?result=failure', (client: StepwellClient) => client.listAudit({ result: 'failure' })],
  ])('an empty page of %s is skipped while more rows may match', async (_what, path, list) => {
    const empty = (cursor: string) => json(200, { data: [], cursor, hasMore: true });
    const { client, sent, runToEnd } = createTestClient([
      empty('c1'),
      empty('c2'),
      json(200, { data: [], cursor: null, hasMore: false }),
    ]);
    expect(await runToEnd(list(client))).toEqual({ data: [], cursor: null, hasMore: false });
    expect(sent.map((each) => each.path)).toEqual([path, `${path}&cursor=c1`, `${path}&cursor=c2`]);
  });

  test('a page with rows is returned with its cursor', async () => {
    const page = { data: [{ ...facts, status: 'failed' }], cursor: 'c2', hasMore: true };
    const { client, sent, runToEnd } = createTestClient([json(200, { data: [], cursor: 'c1', hasMore: true }), json(200, page)]);
    expect(await runToEnd(client.listRuns({ cursor: 'c0' }))).toMatchObject({ cursor: 'c2', hasMore: true });
    expect(sent.map((each) => each.path)).toEqual(['/v1/runs?cursor=c0', '/v1/runs?cursor=c1']);
  });

  test('of runs do the same, and errors reject the iteration', async () => {
    const runs = json(200, { data: [{ ...facts, status: 'failed' }], cursor: 'c1', hasMore: true });
    const { client, sent, expectError } = createTestClient([runs, errorResponse(400, 'cursor_invalid')]);
    expect(await expectError(all(client.eachRun({ status: 'failed' })))).toMatchObject({ code: 'cursor_invalid' });
    expect(sent[1]?.path).toBe('/v1/runs?status=failed&cursor=c1');
  });
});

describe('events', () => {
  test('arrive in order until the last one, over pages, pauses and errors', async () => {
    const { client, sent, runToEnd } = createTestClient([
      events(0, ['input.set', 'run.started'], true),
      events(2, ['node.queued']),
      networkError,
      events(3, []),
      run('running'),
      events(3, []),
      events(3, ['node.completed']),
      events(4, ['run.completed']),
    ]);
    const rows = await runToEnd(all(client.followRunEvents(runId, { limit: 2 }, { pollMs: 100 })));
    expect(rows.map(({ eventId }) => eventId)).toEqual([1, 2, 3, 4, 5]);
    const path = `/v1/runs/${runId}`;
    expect(sent.map((each) => [each.path.replace(path, ''), each.atMs])).toEqual([
      ['/events?limit=2', 0],
      ['/events?limit=2&after=2', 0], // more pages: without a pause
      ['/events?limit=2&after=3', 100],
      ['/events?limit=2&after=3', 200], // retried after an error
      ['?resolveData=none', 200], // no new events: read the status
      ['/events?limit=2&after=3', 350],
      ['/events?limit=2&after=3', 575],
      ['/events?limit=2&after=4', 675], // new events reset the pause
    ]);
  });

  test.each(['run.completed', 'run.failed', 'run.timed_out', 'run.cancelled'])(
    '%s is the last event, and no request follows it',
    async (type) => {
      const { client, sent, runToEnd } = createTestClient([events(0, ['input.set', type])]);
      expect(await runToEnd(all(client.followRunEvents(runId)))).toHaveLength(2);
      expect(sent).toHaveLength(1);
    },
  );

  test('only these events end a run', () => {
    const ending = (['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED'] as const).map((type) =>
      mapEngineEventToSse({ type }),
    );
    for (const type of ending) expect(isFinalEvent({ ...event(1, type), type })).toBe(true);
    for (const type of ['run.started', 'run.recovered', 'node.failed'] as const)
      expect(isFinalEvent({ ...event(1, type), type })).toBe(false);
  });

  test('following an ended run after its last event ends', async () => {
    const { client, sent, runToEnd } = createTestClient([events(9, []), run('failed'), events(9, [])]);
    expect(await runToEnd(all(client.followRunEvents(runId, { after: '9' })))).toEqual([]);
    expect(sent).toHaveLength(3);
  });

  test('an end between two polls is not missed', async () => {
    const { client, runToEnd } = createTestClient([
      events(3, []),
      run('completed'),
      events(3, ['node.completed', 'run.completed']),
    ]);
    expect(await runToEnd(all(client.followRunEvents(runId, { after: '3' })))).toHaveLength(2);
  });

  test('an abort ends the pause', async () => {
    const controller = new AbortController();
    const { client, clock, expectError } = createTestClient([events(0, ['input.set'])]);
    const reading = all(client.followRunEvents(runId, {}, { signal: controller.signal }));
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('enough'));
    expect(await expectError(reading)).toEqual(new Error('enough'));
    expect(clock.now()).toBe(0);
  });
});

describe('the result', () => {
  test.each([
    ['completed', { output: { due: 135 } }],
    ['failed', { error: { code: 'node_failed', cause: 'error', message: 'no' } }],
    ['cancelled', { cancelReason: 'enough' }],
  ])('of a %s run is a value', async (status, more) => {
    const { client, sent, runToEnd } = createTestClient([run('pending'), run('running'), run(status), run(status, more)]);
    expect(await runToEnd(client.result(runId))).toMatchObject({ status, ...more });
    expect(sent.map(({ path, atMs }) => [path.split('?')[1], atMs])).toEqual([
      ['resolveData=none', 0],
      ['resolveData=none', 250],
      ['resolveData=none', 625],
      [undefined, 625],
    ]);
  });

  test('is polled with growing pauses up to 5 s', async () => {
    const steps = [...Array.from({ length: 12 }, () => run('running')), run('completed')];
    const { client, sent, runToEnd } = createTestClient(steps);
    await runToEnd(client.result(runId, { pollMs: 1_000 }));
    const waits = sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
    expect(waits.slice(0, 6)).toEqual([1_000, 1_500, 2_250, 3_375, 5_000, 5_000]);
  });

  test('times out after timeoutMs without a change to the run', async () => {
    const { client, sent, clock, expectError } = createTestClient([run('running')]);
    const error = await expectError(client.result(runId, { timeoutMs: 1_000, pollMs: 300, correlationId: 'mine' }));
    expect(error).toBeInstanceOf(TransportComputeClientError);
    expect(error).toMatchObject({ kind: 'timeout', message: `${runId} did not end within 1000 ms`, correlationId: 'mine' });
    expect([clock.now(), sent.length, sent.every(({ method }) => method === 'GET')]).toEqual([1_000, 3, true]);
    expect(clock.nextWakeAt()).toBeUndefined();
  });

  test('that does not match the API is an error immediately', async () => {
    const { client, expectError } = createTestClient([errorResponse(404, 'not_found')]);
    expect(await expectError(client.result(runId, { timeoutMs: 60_000 }))).toMatchObject({ status: 404, code: 'not_found' });
  });

  test('an abort ends the wait for it', async () => {
    const controller = new AbortController();
    const { client, expectError, clock } = createTestClient([run('running')]);
    const waiting = client.result(runId, { timeoutMs: 60_000, signal: controller.signal });
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('enough'));
    expect(await expectError(waiting)).toEqual(new Error('enough'));
    expect([clock.now(), clock.nextWakeAt()]).toEqual([0, undefined]);
  });

  test.each([{ pollMs: 0 }, { timeoutMs: 0 }, { timeoutMs: Number.NaN }])('%j is refused', async (options) => {
    const { client, sent, expectError } = createTestClient([run('completed')]);
    expect(await expectError(client.result(runId, options))).toBeInstanceOf(RangeError);
    expect(sent).toHaveLength(0);
  });
});
