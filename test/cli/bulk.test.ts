/** Bulk operations: counting, confirmation, failures and the report. */
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { newBulkId, bulkStartTime } from '../../lib/cli/actions/bulk-runs.ts';
import { CliError, type Terminal } from '../../lib/cli/command.ts';
import { minutes } from '../../lib/engine/time.ts';
import { fetchOf } from '../client/in-process.ts';
import { instantGraph, openGraph } from '../functions/http.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, dataIn, errorIn } from './test-cli.ts';

const shape = z.strictObject({
  bulkId: z.string().exactOptional(),
  counts: z.strictObject({ done: z.int(), skipped: z.int(), failed: z.int(), notTried: z.int() }),
  hasMore: z.boolean(),
  items: z.array(
    z.strictObject({ runId: z.string(), outcome: z.enum(['done', 'skipped', 'failed', 'not_tried']), detail: z.string() }),
  ),
});
const counts = { done: 0, skipped: 0, failed: 0, notTried: 0 };

const night = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'night', type: 'delay', config: { delayMinutes: 480 } },
  ],
  edges: [{ source: 'start', target: 'night' }],
};

let environment: CliEnvironment;
let admin: TestCli;
beforeEach(async () => {
  environment = createCliEnvironment();
  admin = await environment.cliWithScopes(['admin']);
});

/** @returns their ids, oldest first */
async function runsOf(name: string, graph: object, many: number): Promise<readonly string[]> {
  const key = await environment.api.key(['admin'], { rateLimitPerMinute: null });
  await environment.api.call('POST', '/v1/workflows', { key, body: { name, ...graph } });
  const ids: string[] = [];
  for (let n = 0; n < many; n += 1) {
    environment.api.world.clock.advance(minutes(1));
    const headers = { 'Idempotency-Key': `${name}-${n}` };
    const { body } = await environment.api.call('POST', '/v1/runs', { key, headers, body: { workflowName: name } });
    ids.push(z.string().parse(body['runId']));
  }
  environment.api.world.clock.advance(minutes(1));
  return ids;
}
const statuses = async (): Promise<readonly string[]> =>
  z
    .object({ items: z.array(z.looseObject({ status: z.string() })) })
    .parse(dataIn(await admin.type('--json', 'runs', 'list', '--all'), z.unknown()))
    .items.map(({ status }) => status);

describe('confirmation', () => {
  test.each([['cancel'], ['rerun']])('%s is refused in a non-interactive terminal without --yes', async (verb) => {
    await runsOf('flow', openGraph, 2);
    for (const json of [[], ['--json']]) {
      const { exitCode, out, err } = await admin.type(...json, 'runs', verb, '--workflow', 'flow');
      expect(exitCode).toBe(3);
      expect(out + err).toContain(`2 runs would be affected: ${verb} them? This terminal is not interactive: add --yes.`);
    }
    expect(await statuses()).toEqual(['pending', 'pending']);
  });
  test('answering no changes nothing', async () => {
    await runsOf('flow', openGraph, 2);
    const interactive = await environment.cliWithScopes(['admin'], { isInteractive: true, answer: false });
    const { exitCode, err } = await interactive.type('runs', 'cancel', '--workflow', 'flow');
    expect(interactive.questions).toEqual(['2 runs would be affected: cancel them?']);
    expect([exitCode, err]).toEqual([1, 'error: Nothing was changed.\n']);
    expect(await statuses()).toEqual(['pending', 'pending']);
  });
  test('answering yes applies the operation', async () => {
    await runsOf('flow', openGraph, 2);
    const interactive = await environment.cliWithScopes(['admin'], { isInteractive: true, answer: true });
    expect((await interactive.type('runs', 'cancel', '--workflow', 'flow')).exitCode).toBe(0);
    expect(await statuses()).toEqual(['cancelled', 'cancelled']);
  });
  test('no confirmation is requested if no run matches', async () => {
    const { exitCode, out } = await admin.type('runs', 'cancel', '--workflow', 'flow');
    expect([exitCode, out]).toEqual([0, 'No run matches.\n']);
  });
});

describe('cancel', () => {
  test('reads all pages, and skips runs that the filters exclude', async () => {
    await runsOf('flow', openGraph, 103);
    await runsOf('other', openGraph, 1);
    await runsOf('done', instantGraph(), 1);
    const answer = await admin.type('--json', 'runs', 'cancel', '--workflow', 'flow', '--yes');
    const data = dataIn(answer, shape);
    expect([answer.exitCode, data.counts, data.hasMore]).toEqual([0, { ...counts, done: 103 }, false]);
    expect(answer.err).toContain('103 of 103');
    expect((await statuses()).toSorted().filter((status) => status !== 'cancelled')).toEqual(['completed', 'pending']);
  });
  test('waits for Retry-After when the key is rate limited', async () => {
    await runsOf('night', night, 30);
    const slowFetch = await environment.cliWithScopes(['admin'], { rateLimitPerMinute: 20 });
    const startedAt = environment.api.world.clock.now();
    const answer = await environment.runToEnd(slowFetch.type('--json', 'runs', 'cancel', '--workflow', 'night', '--yes'));
    expect(dataIn(answer, shape).counts).toEqual({ ...counts, done: 30 });
    expect(environment.api.world.clock.now() - startedAt).toBeGreaterThanOrEqual(minutes(1));
  });
  test('--max-runs limits the runs to the newest ones', async () => {
    const ids = await runsOf('flow', openGraph, 3);
    const data = dataIn(await admin.type('--json', 'runs', 'cancel', '--workflow', 'flow', '--yes', '--max-runs', '2'), shape);
    expect(data.items.map(({ runId }) => runId)).toEqual(ids.slice(1).toReversed());
    expect(data.hasMore).toBe(true);
  });
  test('continues after a failure, skips ended runs, reports each run, and exits with 1', async () => {
    const ids = await runsOf('flow', openGraph, 5);
    const [failingRun = '', endedRun = ''] = ids;
    const fetchHere = fetchOf(environment.api);
    const { type } = await environment.cliWithScopes(['admin'], {
      fetch: async (target, init = {}) => {
        if (target.includes(`${failingRun}/cancel`))
          return Response.json({ code: 'internal', message: 'oh', correlationId: 'c' }, { status: 500 });
        if (target.includes(`${endedRun}/cancel`))
          return Response.json({ code: 'run_terminal', message: 'over', correlationId: 'c' }, { status: 409 });
        return fetchHere(target, init);
      },
      sleep: (ms, signal) =>
        ms < 10_000 ? Promise.resolve() : new Promise((end) => signal.addEventListener('abort', () => end())),
    });
    const { exitCode, out } = await type('runs', 'cancel', '--workflow', 'flow', '--yes', '--concurrency', '1');
    expect(exitCode).toBe(1);
    expect(out).toMatch(new RegExp(`${failingRun} +✗ failed +cancelRun: oh \\(500 internal\\)`));
    expect(out).toMatch(new RegExp(`${endedRun} +– skipped +it has ended already`));
    expect(out).toContain('3 done, 1 skipped, 1 failed, 0 not tried.');
  });
  test('stops when the service is unreachable, reports runs that were not tried, and exits with 4', async () => {
    await runsOf('flow', openGraph, 9);
    const fetchHere = fetchOf(environment.api);
    const { type } = await environment.cliWithScopes(['admin'], {
      fetch: (target, init = {}) =>
        target.includes('/cancel') ? Promise.reject(new TypeError('fetch failed')) : fetchHere(target, init),
      sleep: (ms, signal) =>
        ms < 10_000 ? Promise.resolve() : new Promise((end) => signal.addEventListener('abort', () => end())),
    });
    const answer = await type('--json', 'runs', 'cancel', '--workflow', 'flow', '--yes', '--concurrency', '1');
    expect([answer.exitCode, dataIn(answer, shape).counts]).toEqual([4, { ...counts, failed: 5, notTried: 4 }]);
  });
  test('an interrupt reports completed and not tried runs, and exits with 130', async () => {
    await runsOf('flow', openGraph, 6);
    const fetchHere = fetchOf(environment.api);
    let cancels = 0;
    const interactive = await environment.cliWithScopes(['admin'], {
      fetch: (target, init = {}) => {
        if (target.includes('/cancel') && (cancels += 1) === 3) interactive.interrupt();
        init.signal?.throwIfAborted();
        return fetchHere(target, init);
      },
    });
    const answer = await interactive.type('--json', 'runs', 'cancel', '--workflow', 'flow', '--yes', '--concurrency', '1');
    expect([answer.exitCode, dataIn(answer, shape).counts]).toEqual([130, { ...counts, done: 2, notTried: 4 }]);
  });
});

describe('rerun', () => {
  test('repeating a bulk id reruns no run twice and excludes its own reruns', async () => {
    const ids = await runsOf('flow', instantGraph('error'), 3);
    const first = dataIn(await admin.type('--json', 'runs', 'rerun', '--status', 'failed', '--yes'), shape);
    expect(first.counts).toEqual({ ...counts, done: 3 });
    expect(first.items.map(({ runId }) => runId)).toEqual(ids.toReversed());
    environment.api.world.clock.advance(minutes(5));
    const { bulkId = '' } = first;
    const repeated = dataIn(
      await admin.type('--json', 'runs', 'rerun', '--status', 'failed', '--yes', '--bulk-id', bulkId),
      shape,
    );
    expect(repeated.items).toEqual(first.items);
    expect(await statuses()).toHaveLength(6);
    const otherRun = dataIn(await admin.type('--json', 'runs', 'rerun', '--status', 'failed', '--yes'), shape);
    expect(otherRun.counts.done).toBe(6);
  });
  test('the bulk id is printed before the first rerun', async () => {
    await runsOf('flow', instantGraph(), 1);
    const { err } = await admin.type('runs', 'rerun', '--workflow', 'flow', '--yes');
    expect(err).toMatch(/^If this is interrupted, continue with --bulk-id bulk_\w+ and the same filters\.$/m);
  });
  test('an invalid or expired bulk id is refused', async () => {
    const now = Date.UTC(2026, 0, 2);
    const id = newBulkId(now, '01234567-89ab-cdef');
    expect(bulkStartTime(id, now + 1_000)).toBe(now);
    expect(() => bulkStartTime(id, now + 86_400_000)).toThrow(CliError);
    const answer = await admin.type('--json', 'runs', 'rerun', '--status', 'failed', '--yes', '--bulk-id', 'mine');
    expect([answer.exitCode, errorIn(answer).message]).toEqual([
      3,
      "--bulk-id must be an id that a bulk operation printed (value: 'mine').",
    ]);
  });
});

/** A run that calls a run, both failed. @returns their ids */
async function failedCall(): Promise<{ readonly caller: string; readonly called: string }> {
  const end = { id: 'end', type: 'end' };
  const calling = {
    nodes: [{ id: 'start', type: 'start' }, { id: 'call', type: 'subflow', config: { workflowName: 'called' } }, end],
    edges: [
      { source: 'start', target: 'call' },
      { source: 'call', target: 'end' },
    ],
  };
  const key = await environment.api.key(['admin'], { rateLimitPerMinute: null });
  await environment.api.call('POST', '/v1/workflows', { key, body: { name: 'called', ...instantGraph('error') } });
  const [caller = ''] = await runsOf('calling', calling, 1);
  await environment.runToEnd(admin.type('runs', 'result', caller));
  const { body } = await environment.api.call('GET', `/v1/runs/${caller}`, { key });
  const { nodes } = z.object({ nodes: z.array(z.object({ childRunId: z.string().optional() })) }).parse(body);
  environment.api.world.clock.advance(minutes(1));
  return { caller, called: nodes.flatMap(({ childRunId }) => childRunId ?? []).join() };
}

describe('runs that another run called', () => {
  test('are not rerun beside their caller', async () => {
    const { caller } = await failedCall();
    const { err } = await admin.type('runs', 'rerun', '--status', 'failed');
    expect(err).toContain('1 run would be affected');
    const answer = await admin.type('--json', 'runs', 'rerun', '--status', 'failed', '--yes');
    expect(dataIn(answer, shape).items.map(({ runId }) => runId)).toEqual([caller]);
    expect(answer.err).toContain('1 of 1');
  });
  test('are rerun with --children', async () => {
    const { caller, called } = await failedCall();
    const answer = await admin.type('--json', 'runs', 'rerun', '--status', 'failed', '--children', '--yes');
    expect(
      dataIn(answer, shape)
        .items.map(({ runId }) => runId)
        .toSorted(),
    ).toEqual([caller, called].toSorted());
  });
  test('are cancelled with their caller, or with --children', async () => {
    const body = {
      nodes: [
        { id: 'start', type: 'start' },
        { id: 'call', type: 'subflow', config: { workflowName: 'night' } },
      ],
      edges: [{ source: 'start', target: 'call' }],
    };
    await runsOf('night', night, 0);
    await runsOf('calling', body, 1);
    const isCalled = async (): Promise<void> => {
      while (!(await admin.type('runs', 'list', '--children', '--workflow', 'night')).out.includes('wrun_'))
        await environment.api.world.clock.sleep(minutes(1), new AbortController().signal);
    };
    await environment.runToEnd(isCalled());
    const alone = await admin.type('--json', 'runs', 'cancel', '--workflow', 'night', '--yes');
    expect(dataIn(alone, shape).items).toEqual([]);
    const withChildren = await admin.type('--json', 'runs', 'cancel', '--workflow', 'night', '--children', '--yes');
    expect(dataIn(withChildren, shape).counts).toEqual({ ...counts, done: 1 });
  });
});

describe('redrive', () => {
  /** No message is lost in this test, so the error code is inserted into the responses that list the run. */
  const losing =
    (runId: string): Terminal['fetch'] =>
    async (target, init = {}) => {
      const answer = await fetchOf(environment.api)(target, init);
      const text = await answer.text();
      if (!/\/v1\/runs\?/.test(target)) return new Response(text, { status: answer.status });
      const { data, ...page } = z
        .looseObject({ data: z.array(z.looseObject({ runId: z.string(), error: z.looseObject({}).optional() })) })
        .parse(JSON.parse(text));
      const lost = data.map((run) =>
        run.runId === runId ? { ...run, error: { ...run.error, code: 'recovery_error', cause: 'lost' } } : run,
      );
      return Response.json({ data: lost, ...page });
    };

  test.each([[[]], [['--workflow', 'called']], [['--workflow', 'calling']]])(
    'reruns the outermost caller of a run that lost a message: %j',
    async (filter) => {
      const { caller, called } = await failedCall();
      const { type } = await environment.cliWithScopes(['admin'], { fetch: losing(called) });
      const data = dataIn(await type('--json', 'redrive', '--yes', ...filter), shape);
      expect(data.items.map(({ runId }) => runId)).toEqual([caller]);
      expect(dataIn(await type('--json', 'redrive', '--yes', '--workflow', 'other'), shape).items).toEqual([]);
    },
  );
  test.each([
    ['is open', { status: 'running', completedAt: undefined }, false],
    ['completed after it', { status: 'completed' }, false],
    ['ended before it', { completedAt: '2020-01-01T00:00:00.000Z' }, true],
  ])('a run whose caller %s', async (_what, change, isRerun) => {
    const { caller, called } = await failedCall();
    const listing = losing(called);
    const { type } = await environment.cliWithScopes(['admin'], {
      fetch: async (target, init) => {
        const answer = await listing(target, init);
        if (!target.includes(`/v1/runs/${caller}`)) return answer;
        return Response.json({ ...z.looseObject({}).parse(await answer.json()), ...change });
      },
    });
    const { items } = dataIn(await type('--json', 'redrive', '--yes'), shape);
    expect(items.map(({ runId }) => runId)).toEqual(isRerun ? [called] : []);
  });
  test('reruns only the runs that failed with recovery_error', async () => {
    const [lostRun = '', otherRun = ''] = await runsOf('flow', instantGraph('error'), 2);
    const { type } = await environment.cliWithScopes(['admin'], { fetch: losing(lostRun) });
    const data = dataIn(await type('--json', 'redrive', '--yes'), shape);
    expect(data.items.map(({ runId }) => runId)).toEqual([lostRun]);
    expect(data.items.map(({ runId }) => runId)).not.toContain(otherRun);
  });
  test('--help explains dead-letter queues', async () => {
    expect((await admin.type('redrive', '--help')).out).toContain('dead-letter queue');
  });
});
