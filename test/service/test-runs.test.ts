/** Test runs: started from an unpublished graph, with pinned outputs, separate from other runs. */
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

const statusOf = async (env: ReturnType<typeof createTestEnv>, run: Parameters<typeof env.fold>[0]) =>
  (await env.fold(run)).state.progress.status;

describe('a test run', () => {
  it('runs an unsaved graph to its end, on workers without its plan, and publishes nothing', async () => {
    const env = createTestEnv();
    const run = await startTestRun(env, definitionOf('draft', 'a>b b>e'), { input: { x: 1 } });
    for (let jobs = env.ports.jobs.takeSent(); jobs.length > 0; jobs = env.ports.jobs.takeSent()) {
      for (const job of jobs) {
        const worker = { ...env.worker, plans: new Plans(simulatedTypes) };
        await env.take(job, { worker });
      }
    }
    expect(await statusOf(env, run)).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'b#1']);
    expect(await env.ports.workflows.summary(scope, workflowName('draft'))).toBeUndefined();
  });

  it('of the same name as a published workflow runs its own graph, and so does another test', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z', { z: { ms: 5 } }));
    await startTestRun(env, definitionOf('flow', 'a>b'));
    await startTestRun(env, definitionOf('flow', 'a>d'), { idempotencyKey: 'another', bodyHash: 'another' });
    await env.begin('flow');
    await env.settle();
    expect(env.attempts.toSorted()).toEqual(['a#1', 'a#1', 'a#1', 'b#1', 'd#1']);
  });

  it('has a deadline of a day, and is retained for a day after it', async () => {
    const env = createTestEnv();
    const now = env.ports.clock.now();
    const long = await startTestRun(env, { ...definitionOf('flow', 'a>b'), options: { deadlineSeconds: 30 * 86_400 } });
    const short = { ...definitionOf('flow', 'a>b'), options: { deadlineSeconds: 3_600 } };
    const brief = await startTestRun(env, short, { idempotencyKey: 'k2' });
    const [one, two] = [(await env.fold(long)).head, (await env.fold(brief)).head];
    expect([one.deadlineAt, one.expiresAt]).toEqual([after(now, days(1)), after(now, days(3))]);
    expect([two.deadlineAt, two.expiresAt]).toEqual([after(now, hours(1)), after(after(now, hours(1)), days(2))]);
  });

  it('repeated with its key is one run; with another graph it is a conflict', async () => {
    const env = createTestEnv();
    const definition = definitionOf('flow', 'a>b');
    const [one, two] = [await requestTestRun(env, definition), await requestTestRun(env, definition)];
    expect(two).toEqual({ ...one, isReplay: true });
    expect(await requestTestRun(env, definition, { bodyHash: 'other' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('is validated like a publication, with every finding at once, including pins and input', async () => {
    const env = createTestEnv();
    const definition = definitionOf('flow', 'a>b b>a c>b');
    const pinned = { missing: { output: 1 }, c: { output: 1 }, b: { output: 1, handle: 'sideways' } };
    const answer = await requestTestRun(env, definition, { pinned });
    if (answer.kind !== 'definition_invalid') throw new Error(answer.kind);
    const found = answer.findings.map(({ code, pointer }) => `${code} ${pointer}`);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^cycle_detected/),
        'pinned_node_unknown /pinned/missing',
        'unknown_handle /pinned/c',
        'unknown_handle /pinned/b',
      ]),
    );
    const strict = {
      ...definitionOf('flow', 'a>b'),
      options: { args: [{ name: 'n', type: 'number' as const, required: true }] },
    };
    expect(await requestTestRun(env, strict, { input: {} })).toMatchObject({ kind: 'input_invalid' });
    // Nothing was written, so the key is free.
    expect(await requestTestRun(env, strict, { input: { n: 1 }, bodyHash: 'other' })).toMatchObject({ kind: 'started' });
  });

  it('is listed only on request, and causes no notices', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const test1 = await startTestRun(env, definitionOf('draft', 'a>b'));
    const run = await env.begin('flow');
    await env.settle();
    const listed = async (includeTests: boolean) =>
      (await listRuns(env.deps, scope, { includeTests }, { limit: 10 })).runs.map((run) =>
        'head' in run ? run.head.address.runId : '',
      );
    expect(await listed(false)).toEqual([run.runId]);
    expect(new Set(await listed(true))).toEqual(new Set([run.runId, test1.runId]));
    expect(env.ports.notices.statusNotices.map((notice) => ('run' in notice ? notice.run.runId : ''))).toEqual([run.runId]);
    expect(await rerunRun(env.worker, { sourceRun: test1, idempotencyKey: 'r', bodyHash: 'r' })).toEqual({ kind: 'test_run' });
  });

  it('is recovered like any other run', async () => {
    const env = createTestEnv();
    const run = await startTestRun(env, definitionOf('draft', 'a>b'));
    // The first job is lost.
    env.ports.jobs.takeSent();
    for (let minute = 0; minute < 8; minute += 1) {
      env.ports.clock.set(after(env.ports.clock.now(), hours(0.05)));
      await sweepRuns(env.worker, after(env.ports.clock.now(), hours(1)));
      await env.settle();
    }
    expect(await statusOf(env, run)).toBe('completed');
    expect(isTestRun((await env.fold(run)).head)).toBe(true);
  });
});

describe('a pinned node', () => {
  it('is not executed, ends with its pinned output, and is marked in events and responses', async () => {
    const env = createTestEnv();
    const run = await startTestRun(env, definitionOf('draft', 'a>b b>d'), { pinned: { b: { output: { total: 3 } } } });
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'd#1']);
    const { head, state } = await env.fold(run);
    expect(state.progress.status).toBe('completed');
    const commits = [head.commit, ...(await env.ports.log.commitsAfter(run, firstCommit))];
    const completed = commits.flatMap((commit) => publicEvents(head, commit)).filter(({ type }) => type === 'node.completed');
    expect(completed.map(({ payload }) => [payload['nodeId'], payload['isPinned'], payload['output']])).toEqual([
      ['a', undefined, { value: 'a' }],
      ['b', true, { value: { total: 3 } }],
      ['d', undefined, { value: 'd' }],
    ]);
    const got = await getRun(env.worker, run, true);
    if (got.kind !== 'found') throw new Error(got.kind);
    expect(got.run.nodes.map(({ node, isPinned, output }) => [node.id, isPinned, output])).toEqual([
      ['a', undefined, { value: 'a' }],
      ['b', true, { value: { total: 3 } }],
      ['d', undefined, { value: 'd' }],
    ]);
  });

  it('follows its pinned handle, even if it is a root, disabled, or would wait', async () => {
    const env = createTestEnv();
    const definition = definitionOf('draft', 'a>c c>s s>x c>y', { s: { policy: { isDisabled: true } } });
    const edges = definition.edges.map((edge) =>
      edge.source === 'c' ? { ...edge, sourceHandle: edge.target === 's' ? 'left' : 'right' } : edge,
    );
    const pinned = { a: { output: 1 }, c: { output: 2, handle: 'left' }, s: { output: { signalId: 'made-up' } } };
    const run = await startTestRun(env, { ...definition, edges }, { pinned });
    await env.settle();
    expect(env.attempts).toEqual(['x#1']);
    const { state } = await env.fold(run);
    expect([...state.nodes.entries()].map(([id, { status }]) => `${id} ${status}`).toSorted()).toEqual([
      'a completed',
      'c completed',
      's completed',
      'x completed',
      'y skipped',
    ]);
  });

  it('with a large output is offloaded like other large outputs', async () => {
    const env = createTestEnv();
    const run = await startTestRun(env, definitionOf('draft', 'a>b'), { pinned: { a: { output: 'x'.repeat(100_000) } } });
    const got = await getRun(env.worker, run, true);
    expect(got).toMatchObject({ run: { nodes: [{ output: { value: 'x'.repeat(100_000) } }, {}] } });
  });
});
