/** Test runs: begun from a graph that nobody has published, with pinned outputs, kept apart from other runs. */
import { describe, expect, it } from 'vitest';
import { isTestRun } from '../../lib/engine/log/head.ts';
import { publicEvents } from '../../lib/engine/log/public-event.ts';
import { after, days, hours } from '../../lib/engine/time.ts';
import { firstCommit, workflowName } from '../../lib/engine/ids.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { listRuns } from '../../lib/service/runs/list-runs.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { simulatedTypes } from '../simulation/random-graph.ts';
import { createTestEnv, scope, workflow } from './test-env.ts';
import { definitionOf, requestTestRun, startTestRun } from './test-run-fixture.ts';

const statusOf = async (home: ReturnType<typeof createTestEnv>, run: Parameters<typeof home.fold>[0]) =>
  (await home.fold(run)).state.progress.status;

describe('a test run', () => {
  it('runs an unsaved graph to its end, on workers that know nothing of it, and publishes nothing', async () => {
    const home = createTestEnv();
    const run = await startTestRun(home, definitionOf('draft', 'a>b b>e'), { input: { x: 1 } });
    for (let jobs = home.ports.jobs.takeSent(); jobs.length > 0; jobs = home.ports.jobs.takeSent()) {
      for (const job of jobs) {
        const worker = { ...home.worker, plans: new Plans(simulatedTypes) };
        await home.take(job, { worker });
      }
    }
    expect(await statusOf(home, run)).toBe('completed');
    expect(home.attempts).toEqual(['a#1', 'b#1']);
    expect(await home.ports.workflows.summary(scope, workflowName('draft'))).toBeUndefined();
  });

  it('of the same name as a published workflow runs its own graph, and so does another test', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z', { z: { ms: 5 } }));
    await startTestRun(home, definitionOf('flow', 'a>b'));
    await startTestRun(home, definitionOf('flow', 'a>d'), { idempotencyKey: 'another', bodyHash: 'another' });
    await home.begin('flow');
    await home.settle();
    expect(home.attempts.toSorted()).toEqual(['a#1', 'a#1', 'a#1', 'b#1', 'd#1']);
  });

  it('has a day at most, and is kept for a day after its latest end', async () => {
    const home = createTestEnv();
    const now = home.ports.clock.now();
    const long = await startTestRun(home, { ...definitionOf('flow', 'a>b'), options: { deadlineSeconds: 30 * 86_400 } });
    const short = { ...definitionOf('flow', 'a>b'), options: { deadlineSeconds: 3_600 } };
    const brief = await startTestRun(home, short, { idempotencyKey: 'k2' });
    const [one, two] = [(await home.fold(long)).head, (await home.fold(brief)).head];
    expect([one.deadlineAt, one.expiresAt]).toEqual([after(now, days(1)), after(now, days(3))]);
    expect([two.deadlineAt, two.expiresAt]).toEqual([after(now, hours(1)), after(after(now, hours(1)), days(2))]);
  });

  it('that is asked for again under its key is one run; with another graph it is a conflict', async () => {
    const home = createTestEnv();
    const definition = definitionOf('flow', 'a>b');
    const [one, two] = [await requestTestRun(home, definition), await requestTestRun(home, definition)];
    expect(two).toEqual({ ...one, isReplay: true });
    expect(await requestTestRun(home, definition, { bodyHash: 'other' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('is judged as a publication is, every finding at once, pins and input too', async () => {
    const home = createTestEnv();
    const definition = definitionOf('flow', 'a>b b>a c>b');
    const pinned = { nobody: { output: 1 }, c: { output: 1 }, b: { output: 1, handle: 'sideways' } };
    const answer = await requestTestRun(home, definition, { pinned });
    if (answer.kind !== 'definition_invalid') throw new Error(answer.kind);
    const found = answer.findings.map(({ code, pointer }) => `${code} ${pointer}`);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^cycle_detected/),
        'pinned_node_unknown /pinned/nobody',
        'unknown_handle /pinned/c',
        'unknown_handle /pinned/b',
      ]),
    );
    const strict = {
      ...definitionOf('flow', 'a>b'),
      options: { args: [{ name: 'n', type: 'number' as const, required: true }] },
    };
    expect(await requestTestRun(home, strict, { input: {} })).toMatchObject({ kind: 'input_invalid' });
    // Nothing was tried, so the key is free.
    expect(await requestTestRun(home, strict, { input: { n: 1 }, bodyHash: 'other' })).toMatchObject({ kind: 'started' });
  });

  it('is not among the runs unless it is asked for, and is no news to anybody', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const test1 = await startTestRun(home, definitionOf('draft', 'a>b'));
    const run = await home.begin('flow');
    await home.settle();
    const listed = async (includeTests: boolean) =>
      (await listRuns(home.deps, scope, { includeTests }, { limit: 10 })).runs.map(({ head }) => head.address.runId);
    expect(await listed(false)).toEqual([run.runId]);
    expect(new Set(await listed(true))).toEqual(new Set([run.runId, test1.runId]));
    expect(home.ports.notices.statusNotices.map((notice) => ('run' in notice ? notice.run.runId : ''))).toEqual([run.runId]);
    expect(await rerunRun(home.worker, { sourceRun: test1, idempotencyKey: 'r', bodyHash: 'r' })).toEqual({ kind: 'test_run' });
  });

  it('is recovered as any other', async () => {
    const home = createTestEnv();
    const run = await startTestRun(home, definitionOf('draft', 'a>b'));
    // The first job is lost.
    home.ports.jobs.takeSent();
    for (let minute = 0; minute < 8; minute += 1) {
      home.ports.clock.set(after(home.ports.clock.now(), hours(0.05)));
      await sweepRuns(home.worker, after(home.ports.clock.now(), hours(1)));
      await home.settle();
    }
    expect(await statusOf(home, run)).toBe('completed');
    expect(isTestRun((await home.fold(run)).head)).toBe(true);
  });
});

describe('a pinned node', () => {
  it('is not run, ends with what was pinned, and is told apart in events and answers', async () => {
    const home = createTestEnv();
    const run = await startTestRun(home, definitionOf('draft', 'a>b b>d'), { pinned: { b: { output: { total: 3 } } } });
    await home.settle();
    expect(home.attempts).toEqual(['a#1', 'd#1']);
    const { head, state } = await home.fold(run);
    expect(state.progress.status).toBe('completed');
    const commits = [head.commit, ...(await home.ports.log.commitsAfter(run, firstCommit))];
    const completed = commits.flatMap((commit) => publicEvents(head, commit)).filter(({ type }) => type === 'node.completed');
    expect(completed.map(({ payload }) => [payload['nodeId'], payload['isPinned'], payload['output']])).toEqual([
      ['a', undefined, { value: 'a' }],
      ['b', true, { value: { total: 3 } }],
      ['d', undefined, { value: 'd' }],
    ]);
    const got = await getRun(home.worker, run, true);
    if (got.kind !== 'found') throw new Error(got.kind);
    expect(got.run.nodes.map(({ node, isPinned, output }) => [node.id, isPinned, output])).toEqual([
      ['a', undefined, { value: 'a' }],
      ['b', true, { value: { total: 3 } }],
      ['d', undefined, { value: 'd' }],
    ]);
  });

  it('takes the way out that was pinned, be it a root, disabled, or one that would wait', async () => {
    const home = createTestEnv();
    const definition = definitionOf('draft', 'a>c c>s s>x c>y', { s: { policy: { isDisabled: true } } });
    const edges = definition.edges.map((edge) =>
      edge.source === 'c' ? { ...edge, sourceHandle: edge.target === 's' ? 'left' : 'right' } : edge,
    );
    const pinned = { a: { output: 1 }, c: { output: 2, handle: 'left' }, s: { output: { signalId: 'made-up' } } };
    const run = await startTestRun(home, { ...definition, edges }, { pinned });
    await home.settle();
    expect(home.attempts).toEqual(['x#1']);
    const { state } = await home.fold(run);
    expect([...state.nodes.entries()].map(([id, { status }]) => `${id} ${status}`).toSorted()).toEqual([
      'a completed',
      'c completed',
      's completed',
      'x completed',
      'y skipped',
    ]);
  });

  it('whose output is large is stored as large outputs are', async () => {
    const home = createTestEnv();
    const run = await startTestRun(home, definitionOf('draft', 'a>b'), { pinned: { a: { output: 'x'.repeat(100_000) } } });
    const got = await getRun(home.worker, run, true);
    expect(got).toMatchObject({ run: { nodes: [{ output: { value: 'x'.repeat(100_000) } }, {}] } });
  });
});
