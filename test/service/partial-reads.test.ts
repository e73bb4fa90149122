/** A query is no snapshot: whoever decides from a log decides from a whole one, and a page of it ends before a hole and says so. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import { days, hours } from '../../lib/engine/time.ts';
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
 * A log in which two reads out of three of a run's commits from the first on lack one of them.
 * @param missing which, counted from commit 2; never the last, whose absence is no hole
 */
class TornLog {
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

async function takeAll(home: TestEnv): Promise<void> {
  for (let round = 0; round < 3; round += 1)
    for (const job of [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()]) await home.take(job);
}

const eventsOf = async ({ ports }: TestEnv, run: RunAddress) =>
  (await ports.log.commitsAfter(run, firstCommit)).flatMap(({ events }) => events);

test.each([0, 1, 2])('a resumption repeated with its key finds the first, though hole %i hides it', async (missing) => {
  const torn = new TornLog(missing);
  const home = createTestEnv({ wrap: torn.wrap });
  await home.publish(workflow('flow', 'a>b b>z z>y y>z2 z2>d', { z: { ms: days(3) }, z2: { ms: days(3) } }));
  const run = await home.begin('flow');
  await takeAll(home);
  const idempotency = { key: 'k', bodyHash: 'h' };
  expect(await resumeRun(home.worker, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: false });
  await takeAll(home);
  torn.isArmed = true;
  for (let again = 0; again < 3; again += 1)
    expect(await resumeRun(home.worker, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: true });
  expect(torn.holes).toBeGreaterThan(2);
  expect((await eventsOf(home, run)).filter(({ type }) => type === 'RUN_RESUMED')).toHaveLength(1);
});

test('a resumption that comes to its commit behind the look of its repetition is found by the put that this one loses', async () => {
  const home = createTestEnv();
  await home.publish(workflow('flow', 'a>z z>b b>z2 z2>d', { z: { ms: days(3) }, z2: { ms: days(3) } }));
  const run = await home.begin('flow');
  await takeAll(home);
  const idempotency = { key: 'k', bodyHash: 'h' };
  const { deps } = home;
  const torn = new TornLog((await deps.log.commitsAfter(run, firstCommit)).length);
  let isFirstDone = false;
  const reservations = overrideMethods(deps.reservations, {
    reserve: async (...given) => {
      if (!isFirstDone) {
        isFirstDone = true;
        await resumeRun(home.worker, run, { idempotency });
        await takeAll(home);
        torn.isArmed = true;
      }
      return deps.reservations.reserve(...given);
    },
  });
  const late = { ...home.worker, deps: { ...torn.wrap(deps), reservations } };
  expect(await resumeRun(late, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: true });
  expect(torn.holes).toBe(1);
});

test.each([0, 1])('stopping a test run finds the run that it called, though hole %i hides the call', async (missing) => {
  const torn = new TornLog(missing);
  const home = createTestEnv({ wrap: torn.wrap });
  await home.publish(workflow('child', 'x>y y>z', { z: { ms: hours(1) } }));
  const run = await startTestRun(home, definitionOf('draft', 'a>b b>k b>z z>d', { z: { ms: hours(1) }, k: { calls: 'child' } }));
  await takeAll(home);
  const [child] = (await home.ports.index.list(scope, { limit: 10 })).heads.filter(({ address }) => address.runId !== run.runId);
  if (child === undefined) throw new Error('nobody was called');
  torn.isArmed = true;
  expect(await stopTestRun(home.worker, run)).toEqual({ kind: 'stopped' });
  expect(torn.holes).toBeGreaterThan(1);
  expect(await recordsOf(home, child.address)).toEqual([]);
});

describe('a page', () => {
  async function ended(): Promise<{ home: TestEnv; run: RunAddress }> {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b b>d d>f f>g g>e'));
    const run = await home.begin('flow');
    await home.settle();
    return { home, run };
  }
  const lists = {
    events: async (log: RunLog, run: RunAddress, after: number) => {
      const page = await listEvents({ log }, run, { after, limit: 1_000 });
      if (page.kind !== 'found') throw new Error('the run is gone');
      return { ...page, items: page.events.map(({ eventId, type }) => `${eventId} ${type}`) };
    },
    tags: async (log: RunLog, run: RunAddress, after: number) => {
      const page = await listTags({ log }, run, { after, limit: 1_000 });
      if (page.kind !== 'found') throw new Error('the run is gone');
      return { ...page, items: page.tags.map(({ eventId, tag }) => `${eventId} ${tag}`) };
    },
  };

  test.each(['events', 'tags'] as const)('of %s ends before a hole and says that there is more', async (what) => {
    const { home, run } = await ended();
    const whole = await lists[what](home.ports.log, run, 0);
    expect(whole.hasMore).toBe(false);
    const commits = await home.ports.log.commitsAfter(run, firstCommit);
    expect(commits.length).toBeGreaterThan(2);
    for (let missing = 0; missing < commits.length - 1; missing += 1) {
      const torn = new TornLog(missing);
      torn.isArmed = true;
      const page = await lists[what](torn.over(home.ports.log), run, 0);
      expect(page.hasMore).toBe(true);
      const rest = await lists[what](home.ports.log, run, page.last);
      expect(rest.hasMore).toBe(false);
      expect([...page.items, ...rest.items]).toEqual(whole.items);
    }
  });
});
