/** A query is not a snapshot: decisions use a log without gaps, and a page ends before a gap and says so. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import { days, hours, instant } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { listEvents } from '../../lib/service/runs/list-events.ts';
import { listTags } from '../../lib/service/runs/list-tags.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { stopTestRun } from '../../lib/service/runs/stop-test-run.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { definitionOf, startTestRun, recordsOf } from './test-run-fixture.ts';

/**
 * A log in which two of three reads from the first commit miss one commit.
 * @param missing index of the missing commit, counted from commit 2; never the last commit, whose absence is no gap
 */
class LogWithGaps {
  isArmed = false;
  readonly #missing: number;
  #reads = 0;
  #holes = 0;

  constructor(missing: number) {
    this.#missing = missing;
  }

  get holes(): number {
    return this.#holes;
  }

  over(log: RunLog): RunLog {
    const commitsAfter: RunLog['commitsAfter'] = async (run, after) => {
      const commits = await log.commitsAfter(run, after);
      if (!this.isArmed || after !== firstCommit || this.#missing > commits.length - 2) return commits;
      this.#reads += 1;
      if (this.#reads % 3 === 0) return commits;
      this.#holes += 1;
      return commits.toSpliced(this.#missing, 1);
    };
    return overrideMethods(log, { commitsAfter });
  }

  readonly wrap = (deps: Deps): Deps => ({ ...deps, log: this.over(deps.log) });
}

async function takeAll(env: TestEnv): Promise<void> {
  for (let round = 0; round < 3; round += 1)
    for (const job of [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]) await env.take(job);
}

const eventsOf = async ({ ports }: TestEnv, run: RunAddress) =>
  (await ports.log.commitsAfter(run, firstCommit)).flatMap(({ events }) => events);

test.each([0, 1, 2])('a resume repeated with its key finds the first one, even if gap %i hides it', async (missing) => {
  const withGaps = new LogWithGaps(missing);
  const env = createTestEnv({ wrap: withGaps.wrap });
  await env.publish(workflow('flow', 'a>b b>z z>y y>z2 z2>d', { z: { ms: days(3) }, z2: { ms: days(3) } }));
  const run = await env.begin('flow');
  await takeAll(env);
  const idempotency = { key: 'k', bodyHash: 'h' };
  expect(await resumeRun(env.worker, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: false });
  await takeAll(env);
  withGaps.isArmed = true;
  for (let again = 0; again < 3; again += 1)
    expect(await resumeRun(env.worker, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: true });
  expect(withGaps.holes).toBeGreaterThan(2);
  expect((await eventsOf(env, run)).filter(({ type }) => type === 'RUN_RESUMED')).toHaveLength(1);
});

test('a repeated resume whose read misses the first one finds it by its lost put', async () => {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>z z>b b>z2 z2>d', { z: { ms: days(3) }, z2: { ms: days(3) } }));
  const run = await env.begin('flow');
  await takeAll(env);
  const idempotency = { key: 'k', bodyHash: 'h' };
  const { deps } = env;
  const withGaps = new LogWithGaps((await deps.log.commitsAfter(run, firstCommit)).length);
  let isFirstDone = false;
  const reservations = overrideMethods(deps.reservations, {
    reserve: async (...given) => {
      if (!isFirstDone) {
        isFirstDone = true;
        await resumeRun(env.worker, run, { idempotency });
        await takeAll(env);
        withGaps.isArmed = true;
      }
      return deps.reservations.reserve(...given);
    },
  });
  const late = { ...env.worker, deps: { ...withGaps.wrap(deps), reservations } };
  expect(await resumeRun(late, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: true });
  expect(withGaps.holes).toBe(1);
});

test.each([0, 1])('stopping a test run finds its child run, even if gap %i hides the call', async (missing) => {
  const withGaps = new LogWithGaps(missing);
  const env = createTestEnv({ wrap: withGaps.wrap });
  await env.publish(workflow('child', 'x>y y>z', { z: { ms: hours(1) } }));
  const run = await startTestRun(env, definitionOf('draft', 'a>b b>k b>z z>d', { z: { ms: hours(1) }, k: { calls: 'child' } }));
  await takeAll(env);
  const [child] = (await env.ports.index.list(scope, { limit: 10 })).heads.filter(({ address }) => address.runId !== run.runId);
  if (child === undefined) throw new Error('there is no child run');
  withGaps.isArmed = true;
  expect(await stopTestRun(env.worker, run)).toEqual({ kind: 'stopped' });
  expect(withGaps.holes).toBeGreaterThan(1);
  expect(await recordsOf(env, child.address)).toEqual([]);
});

describe('a page', () => {
  async function ended(): Promise<{ env: TestEnv; run: RunAddress }> {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b b>d d>f f>g g>e'));
    const run = await env.begin('flow');
    await env.settle();
    return { env, run };
  }
  const lists = {
    events: async (log: RunLog, run: RunAddress, after: number) => {
      const page = await listEvents({ log, clock: new MemoryClock(instant(0)) }, run, { after, limit: 1_000 });
      if (page.kind !== 'found') throw new Error('the run is gone');
      return { ...page, items: page.events.map(({ eventId, type }) => `${eventId} ${type}`) };
    },
    tags: async (log: RunLog, run: RunAddress, after: number) => {
      const page = await listTags({ log }, run, { after, limit: 1_000 });
      if (page.kind !== 'found') throw new Error('the run is gone');
      return { ...page, items: page.tags.map(({ eventId, tag }) => `${eventId} ${tag}`) };
    },
  };

  test.each(['events', 'tags'] as const)('of %s ends before a gap and says that there is more', async (what) => {
    const { env, run } = await ended();
    const whole = await lists[what](env.ports.log, run, 0);
    expect(whole.hasMore).toBe(false);
    const commits = await env.ports.log.commitsAfter(run, firstCommit);
    expect(commits.length).toBeGreaterThan(2);
    for (let missing = 0; missing < commits.length - 1; missing += 1) {
      const withGaps = new LogWithGaps(missing);
      withGaps.isArmed = true;
      const page = await lists[what](withGaps.over(env.ports.log), run, 0);
      expect(page.hasMore).toBe(true);
      const rest = await lists[what](env.ports.log, run, page.last);
      expect(rest.hasMore).toBe(false);
      expect([...page.items, ...rest.items]).toEqual(whole.items);
    }
  });
});
