/** No item of a run expires before the retention after the run's end, even if the run ends late. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import { expiryOf, latestEndAfterDeadline } from '../../lib/engine/log/head.ts';
import { type DurationMs, type Instant, after, days, durationMs, hours, minutes, seconds } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { testRetention } from '../../lib/service/runs/create-run.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { saveSnapshot } from '../../lib/service/run-log/snapshots.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { finished, createTestEnv, scope, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const retention = days(30);

/** A test environment, and the earliest expiry of all items written to the log. */
function createRecordingEnv(answer?: Parameters<typeof createTestEnv>[0] extends (infer Options) | undefined ? Options : never) {
  const expiries: Instant[] = [];
  const note = <Result>(expiresAt: Instant, result: Result): Result => {
    expiries.push(expiresAt);
    return result;
  };
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    log: overrideMethods(deps.log, {
      create: (creation) => note(creation.expiresAt, deps.log.create(creation)),
      put: (run, commit, expiresAt) => note(expiresAt, deps.log.put(run, commit, expiresAt)),
      prepare: (run, commit, of) => note(of.expiresAt, deps.log.prepare(run, commit, of)),
      attach: (run, name, value, of) => note(of.expiresAt, deps.log.attach(run, name, value, of)),
      heartbeat: (run, heartbeat, expiresAt) => note(expiresAt, deps.log.heartbeat(run, heartbeat, expiresAt)),
      replaceHeartbeat: (run, read, heartbeat, expiresAt) =>
        note(expiresAt, deps.log.replaceHeartbeat(run, read, heartbeat, expiresAt)),
      saveSnapshot: (run, snapshot, expiresAt) => note(expiresAt, deps.log.saveSnapshot(run, snapshot, expiresAt)),
    }),
    blobs: overrideMethods(deps.blobs, {
      put: (run, key, value, expiresAt) => note(expiresAt, deps.blobs.put(run, key, value, expiresAt)),
    }),
  });
  return { env: createTestEnv({ ...answer, wrap }), expiries };
}

async function endOf(env: ReturnType<typeof createTestEnv>, run: RunAddress): Promise<Instant> {
  const { state } = await env.fold(run);
  const head = await env.ports.log.head(run);
  if (head === undefined) throw new Error('the run is gone');
  expect(['completed', 'failed', 'cancelled']).toContain(state.progress.status);
  const commits = [head.commit, ...(await env.ports.log.commitsAfter(run, head.commit.number))];
  return commits.at(-1)?.at ?? head.createdAt;
}

describe('no item expires before the retention after the end of its run', () => {
  it('of a run that ends in time or by its deadline, at any time of the sweep', async () => {
    const late = fc.integer({ min: 0, max: latestEndAfterDeadline - 1 });
    const deadline = fc.integer({ min: 1, max: 365 * 86_400 });
    await fc.assert(
      fc.asyncProperty(deadline, late, fc.boolean(), async (deadlineSeconds, lateMs, isWaiting) => {
        const { env, expiries } = createRecordingEnv();
        const drawn = isWaiting ? 'a>s s>b' : 'a>b';
        await env.publish({ ...workflow('flow', drawn), options: { deadlineSeconds } });
        const run = await env.begin('flow');
        for (const job of env.ports.jobs.takeSent()) await env.take(job);
        env.ports.clock.set(after(after((await env.fold(run)).head.createdAt, seconds(deadlineSeconds)), durationMs(lateMs)));
        await sweepRun(env.worker, run);
        const bufferedUntil = after(await endOf(env, run), retention);
        expect(expiries.length).toBeGreaterThan(2);
        expect(Math.min(...expiries)).toBeGreaterThanOrEqual(bufferedUntil);
      }),
      { numRuns: 60 },
    );
  });

  it('of a run with a large input whose attempts are redispatched before it ends', async () => {
    const { env, expiries } = createRecordingEnv({ answer: () => finished('x'.repeat(20_000)) });
    await env.publish(workflow('flow', 'a>b b>d'));
    const answer = await env.start({ input: { text: Array.from({ length: 9_000 }, (_, index) => `${index}`).join('-') } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const run = { ...scope, runId: answer.runId };
    for (let round = 0; round < 3; round += 1) {
      env.ports.clock.advance(minutes(10));
      await sweepRun(env.worker, run);
    }
    await env.settle();
    const fold = await env.fold(run);
    await saveSnapshot(env.deps, fold);
    expect(Math.min(...expiries)).toBeGreaterThanOrEqual(after(await endOf(env, run), retention));
  });
});

describe('the expiry of a run', () => {
  const created = 1_000_000 as Instant;
  it.each<[string, DurationMs]>([
    ['a run', retention],
    ['a test run', testRetention],
  ])('of %s is its retention after its latest possible end', (_what, kept) => {
    const deadlineAt = after(created, hours(1));
    expect(expiryOf({ createdAt: created, deadlineAt }, kept)).toBe(deadlineAt + latestEndAfterDeadline + kept);
  });

  it('includes the hour in which a code run rolls back', () => {
    expect(latestEndAfterDeadline).toBeGreaterThan(hours(1));
  });

  it('is refused for a deadline that has passed when the run is created', () => {
    expect(() => expiryOf({ createdAt: created, deadlineAt: created }, retention)).toThrow(/is not after/);
  });
});

describe('a start whose deadline has passed', () => {
  it('is refused, creates nothing, and leaves its key free', async () => {
    const { env, expiries } = createRecordingEnv();
    await env.publish(workflow('flow', 'a>b'));
    const now = env.ports.clock.now();
    expect(await env.start({ deadlineAt: now })).toEqual({ kind: 'deadline_passed' });
    expect(expiries).toEqual([]);
    expect(await env.start({ deadlineAt: after(now, seconds(1)) })).toMatchObject({ kind: 'started', isReplay: false });
  });

  it('returns its run if it was accepted before', async () => {
    const { env } = createRecordingEnv();
    await env.publish(workflow('flow', 'a>b'));
    const deadlineAt = after(env.ports.clock.now(), seconds(10));
    const first = await env.start({ deadlineAt });
    env.ports.clock.advance(minutes(1));
    expect(await env.start({ deadlineAt })).toEqual({ ...first, isReplay: true });
  });

  it('is refused if its first request crashed before the run existed', async () => {
    const { env } = createRecordingEnv();
    await env.publish(workflow('flow', 'a>b'));
    const deadlineAt = after(env.ports.clock.now(), seconds(10));
    const request = {
      scope,
      idempotencyKey: 'k1',
      bodyHash: 'h1',
      workflowName: workflow('flow', 'a>b').name,
      input: {},
      deadlineAt,
    };
    const crashing = {
      ...env.worker,
      deps: { ...env.deps, log: overrideMethods(env.deps.log, { create: () => Promise.reject(new Error('crashed')) }) },
    };
    await expect(startRun(crashing, request)).rejects.toThrow('crashed');
    env.ports.clock.advance(minutes(1));
    expect(await startRun(env.worker, request)).toEqual({ kind: 'deadline_passed' });
  });
});

it('a child run requested after its caller’s deadline is not created, and the caller ends', async () => {
  const { env } = createRecordingEnv();
  await env.publish(workflow('child', 'x>y'));
  await env.publish({ ...workflow('flow', 'a>k k>b', { k: { calls: 'child' } }), options: { deadlineSeconds: 60 } });
  const run = await env.begin('flow');
  const asked: Job[] = [];
  const sent = (): readonly Job[] => [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()];
  for (let jobs = sent(); jobs.length > 0; jobs = sent()) {
    asked.push(...jobs.filter(({ kind }) => kind === 'child'));
    for (const job of jobs.filter(({ kind }) => kind !== 'child')) await env.take(job);
  }
  expect(asked).toHaveLength(1);
  env.ports.clock.advance(minutes(2));
  for (const job of asked) await env.take(job);
  const runs = await env.ports.index.list(scope, { limit: 10 });
  expect(runs.heads.map(({ address }) => address.runId)).toEqual([run.runId]);
  const events = (await env.ports.log.commitsAfter(run, firstCommit)).flatMap((commit) => commit.events);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'RUN_TIMED_OUT', error: expect.objectContaining({ code: 'deadline_exceeded' }) }),
  );
});
