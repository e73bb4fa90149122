/** Scripts that compute for long take their project's share of the workers and no more, and everybody else goes on beside them. */
import { describe, expect, test } from 'vitest';
import { nodeJobIdentity } from '../../lib/aws/message-identity.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import { type RunAddress, type Scope, nodeId, projectId, nodeKey, topLevel, workflowName } from '../../lib/engine/ids.ts';
import {
  type FairShares,
  TimeSliceExceeded,
  firstTimeSlice,
  repeatTimeSlice,
  fairSharesOf,
  slowLaneGroup,
} from '../../lib/engine/fair-shares.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import type { NodeJob } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { handleJob } from '../../lib/service/execution/handle-job.ts';
import { commitsOf } from './code-test-env.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from './test-env.ts';

const timedOut = {
  kind: 'failed',
  failure: { cause: 'timeout', code: 'script_timeout', message: 'the script took longer than its limit' },
} as const;

interface Home extends TestEnv {
  /** attempts of endless scripts that run to their limits, and how to let each reach it */
  readonly endless: ((outcome?: Outcome) => void)[];
  /** how many endless scripts have begun a first slice */
  slices: number;
}

/** A house whose nodes called `hog…` never end by themselves: what they do is told apart by what they are given. */
function homeOf(shares: FairShares | undefined): Home {
  const base = createTestEnv({ wrap: (deps) => ({ ...deps, settings: { ...deps.settings, shares } }) });
  const { clock } = base.ports;
  const runAttempt: RunAttempt = async (node, _input, attempt) => {
    base.attempts.push(`${node.id}#${attempt.number}`);
    if (!node.id.startsWith('hog')) return { outcome: finished(node.id), printed: [] };
    if (attempt.firstSlice !== undefined) {
      home.slices += 1;
      clock.advance(attempt.firstSlice);
      throw new TimeSliceExceeded();
    }
    const outcome = await new Promise<Outcome>((resolve) => home.endless.push((given = timedOut) => resolve(given)));
    return { outcome, printed: [] };
  };
  const worker = { ...base.worker, runAttempt };
  const home: Home = {
    ...base,
    worker,
    endless: [],
    slices: 0,
    take: (job, options = {}) => base.take(job, { worker, ...options }),
  };
  return home;
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** The queue of node jobs: in the order of sending, and of each group one message in flight. */
function queueOf(home: Home, workers: number, shares: FairShares) {
  const waiting: NodeJob[] = [];
  const inFlight = new Map<string, NodeJob>();
  let mostSlow = 0;
  const pump = (): void => {
    waiting.push(...home.ports.jobs.takeSent());
    for (const job of waiting.slice()) {
      const { group } = nodeJobIdentity(job, shares);
      if (inFlight.size >= workers) return;
      if (inFlight.has(group)) continue;
      waiting.splice(waiting.indexOf(job), 1);
      inFlight.set(group, job);
      mostSlow = Math.max(mostSlow, [...inFlight.values()].filter((each) => each.slowLane !== undefined).length);
      void home.take(job).finally(() => {
        inFlight.delete(group);
        pump();
      });
    }
  };
  return {
    waiting,
    inFlight,
    mostSlow: () => mostSlow,
    /** hands jobs out until every worker waits for a script or none is left */
    run: async () => {
      pump();
      await settled();
    },
  };
}

const other: Scope = { ...scope, projectId: projectId('other') };

async function begin(home: Home, name: string, number: number, of: Scope = scope): Promise<RunAddress> {
  const answer = await home.start({ scope: of, workflowName: workflowName(name), idempotencyKey: `${name}-${number}` });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...of, runId: answer.runId };
}

const statusOf = async (home: Home, run: RunAddress) => (await home.fold(run)).state.progress.status;
const numbers = (count: number) => Array.from({ length: count }, (_one, number) => number);

describe('twenty endless scripts on four workers', () => {
  const shares = fairSharesOf(4, 100);

  test('hold no more than their share, others of the project and of another one run beside them, and each ends once', async () => {
    const home = homeOf(shares);
    await home.publish(workflow('hostile', 'hog>b'));
    await home.publish(workflow('quick', 'a>b'));
    await home.ports.workflows.putVersion(other, workflow('quick', 'a>b'), home.ports.clock.now());
    await home.ports.workflows.advance(other, workflow('quick', 'a>b'), home.ports.clock.now());
    const hostile: RunAddress[] = [];
    for (const number of numbers(20)) hostile.push(await begin(home, 'hostile', number));
    const queue = queueOf(home, 4, shares);
    await queue.run();
    expect(home.slices).toBe(20);
    expect(queue.inFlight.size).toBe(1);

    const quick = [await begin(home, 'quick', 1), await begin(home, 'quick', 2, other)];
    await queue.run();
    for (const run of quick) expect(await statusOf(home, run)).toBe('completed');
    expect(queue.waiting).toHaveLength(19);
    for (const run of hostile) expect(await statusOf(home, run)).toBe('pending');

    while (home.endless.length > 0) {
      home.endless.shift()?.();
      await queue.run();
    }
    expect(queue.mostSlow()).toBe(1);
    for (const run of hostile) {
      const { state } = await home.fold(run);
      expect(state.progress).toMatchObject({ status: 'failed' });
      const failures = (await commitsOf(home, run)).flatMap(({ events }) => events.filter(({ type }) => type === 'NODE_FAILED'));
      expect(failures).toMatchObject([{ nodeId: 'hog', failure: { code: 'script_timeout' } }]);
    }
  });

  test('of many workflows hold half of the workers, and one of another project begins while they do', async () => {
    const home = homeOf(shares);
    for (const number of numbers(10)) await home.publish(workflow(`hostile${number}`, 'hog>b'));
    for (const number of numbers(20)) await begin(home, `hostile${number % 10}`, number);
    await home.ports.workflows.putVersion(other, workflow('hostile0', 'hog>b'), home.ports.clock.now());
    await home.ports.workflows.advance(other, workflow('hostile0', 'hog>b'), home.ports.clock.now());
    const queue = queueOf(home, 4, shares);
    await queue.run();
    expect(queue.inFlight.size).toBe(2);
    await begin(home, 'hostile0', 1, other);
    await queue.run();
    expect(queue.inFlight.size).toBe(3);
    expect([...queue.inFlight.values()].filter(({ run }) => run.projectId === other.projectId)).toHaveLength(1);
    while (home.endless.length > 0) {
      home.endless.shift()?.();
      await queue.run();
    }
    expect(queue.mostSlow()).toBe(3);
  });
});

describe('a first slice', () => {
  const shares = fairSharesOf(8, 100);
  const moved = async (drawn = 'hog>b', options = {}) => {
    const home = homeOf(shares);
    await home.publish({ ...workflow('flow', drawn), options });
    const run = await home.begin('flow');
    const [first] = home.ports.jobs.takeSent();
    if (first === undefined) throw new Error('no job was sent');
    const commits = await commitsOf(home, run);
    await home.take(first);
    const [slow, ...rest] = home.ports.jobs.takeSent();
    if (slow === undefined) throw new Error('nothing was sent to the slow lane');
    expect(rest).toEqual([]);
    return { home, run, first, slow, commits };
  };

  test('is given to no script where the queue knows no groups', async () => {
    const home = homeOf(undefined);
    await home.publish(workflow('flow', 'hog>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = home.take(job);
    await settled();
    home.endless.shift()?.();
    await taking;
    expect(home.slices).toBe(0);
    expect(await statusOf(home, run)).toBe('failed');
  });

  test('is a fifth for a node that spent its last one, until one of its scripts ends within it', async () => {
    const given: (number | undefined)[] = [];
    const home = homeOf(shares);
    let isEndless = true;
    const runAttempt: RunAttempt = async (node, _input, { firstSlice: slice }) => {
      given.push(slice);
      if (isEndless && slice !== undefined) throw new TimeSliceExceeded();
      return { outcome: finished(node.id), printed: [] };
    };
    const worker = { ...home.worker, runAttempt };
    await home.publish(workflow('flow', 'a>b'));
    for (const number of numbers(5)) {
      if (number === 3) isEndless = false;
      await begin(home, 'flow', number);
      for (const job of home.ports.jobs.takeSent()) if (job.nodeId === 'a') await home.take(job, { worker });
      home.ports.jobs.takeSent();
    }
    // From the fourth on each run goes on with `b`.
    expect(given).toEqual([
      firstTimeSlice,
      repeatTimeSlice,
      repeatTimeSlice,
      repeatTimeSlice,
      firstTimeSlice,
      firstTimeSlice,
      firstTimeSlice,
    ]);
  });

  test('that is cut commits nothing, records nothing, and sends the same job to its lane', async () => {
    const { home, run, first, slow, commits } = await moved();
    const of = { runId: run.runId, node: first, resend: 0 };
    expect(slow).toEqual({ ...first, slowLane: slowLaneGroup(shares, workflowName('flow'), of) });
    expect(await commitsOf(home, run)).toEqual(commits);
    expect(await home.ports.log.heartbeats(run)).toEqual([]);
  });

  test('of a node that its committer went on with is cut in the same way', async () => {
    const { home, slow } = await moved('a>hog');
    expect(home.attempts).toEqual(['a#1', 'hog#1']);
    expect(slow).toMatchObject({ nodeId: 'hog', commit: 2, attempt: 1, resend: 0 });
    expect(slow.slowLane).toBeTypeOf('number');
  });

  test('that is redelivered after its job was moved does no harm: the lane runs it once', async () => {
    const { home, run, first, slow } = await moved();
    await home.take(first, { isRedelivered: true });
    const again = home.ports.jobs.takeSent();
    expect(again).toEqual([slow]);
    const beat = (await home.ports.log.heartbeats(run)).find(({ node }) => node === 'hog');
    // The first delivery's worker did die, as far as anybody knows; this one left the attempt to its lane.
    expect(beat?.deliveries).toEqual({ lost: [expect.not.objectContaining({ begunAt: expect.anything() })], isReleased: true });
    const taking = home.take(slow);
    await settled();
    expect(home.endless).toHaveLength(1);
    home.endless.shift()?.();
    await taking;
    for (const each of again) await home.take(each);
    expect(home.endless).toEqual([]);
    expect(home.attempts).toEqual(['hog#1', 'hog#1', 'hog#1']);
    const failed = (await commitsOf(home, run)).flatMap(({ events }) => events.filter(({ type }) => type === 'NODE_FAILED'));
    expect(failed).toHaveLength(1);
  });

  test('of a job that was sent again is no loss, and keeps the lane’s next worker from nothing', async () => {
    const { home, run, first } = await moved();
    home.ports.clock.advance(seconds(100));
    await sweepRun(home.worker, run);
    const [again] = home.ports.jobs.takeSent();
    expect(again).toMatchObject({ nodeId: 'hog', resend: 1 });
    expect(again).not.toHaveProperty('slowLane');
    if (again === undefined) throw new Error('it was not sent again');
    await home.take(again);
    const [slow] = home.ports.jobs.takeSent();
    if (slow === undefined) throw new Error('nothing was sent to the slow lane');
    expect(slow).toMatchObject({
      resend: 1,
      slowLane: slowLaneGroup(shares, workflowName('flow'), { runId: run.runId, node: first, resend: 1 }),
    });
    expect(await home.ports.log.heartbeats(run)).toMatchObject([{ node: 'hog', resends: 1, deliveries: { lost: [] } }]);
    const taking = home.take(slow);
    await settled();
    expect(home.endless).toHaveLength(1);
    home.endless.shift()?.();
    await taking;
    expect(await statusOf(home, run)).toBe('failed');
  });

  test('is given again for as many jobs as are sent again, which are fewer the longer the lane is', async () => {
    const { home, run } = await moved();
    let resent = 0;
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      home.ports.clock.advance(minutes(1));
      await sweepRun(home.worker, run);
      for (const job of home.ports.jobs.takeSent())
        if (job.slowLane === undefined) {
          resent += 1;
          await home.take(job);
        }
    }
    // Doubling from 100 s to an hour, and then once an hour.
    expect(resent).toBeLessThanOrEqual(6 + 24);
    expect(home.slices).toBe(1 + resent);
    const [beat] = await home.ports.log.heartbeats(run);
    expect(beat?.deliveries?.lost).toEqual([]);
  });

  test('is given in the slow lane to nobody: what follows there is sent, and takes no slot of the lane', async () => {
    const { home, run, slow } = await moved('hog>a a>b');
    const taking = home.take(slow);
    await settled();
    home.endless.shift()?.(finished('late'));
    await taking;
    expect(home.attempts).toEqual(['hog#1', 'hog#1']);
    const sent = home.ports.jobs.takeSent();
    expect(sent).toMatchObject([{ nodeId: 'a' }]);
    for (const job of sent) await home.take(job);
    expect(home.attempts).toEqual(['hog#1', 'hog#1', 'a#1', 'b#1']);
    expect(await statusOf(home, run)).toBe('completed');
  });
});

describe('a job in the slow lane', () => {
  const shares = fairSharesOf(8, 100);
  const waiting = async (options = {}) => {
    const home = homeOf(shares);
    await home.publish({ ...workflow('flow', 'hog>b'), options });
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const [slow] = home.ports.jobs.takeSent();
    if (slow?.slowLane === undefined) throw new Error('nothing was sent to the slow lane');
    return { home, run, slow };
  };

  test('of a run that was cancelled meanwhile does nothing, in a worker that knows the run from before', async () => {
    const { home, run, slow } = await waiting();
    // By another process: this worker's fold of the run is old.
    await cancelRun({ ...home.worker }, run);
    await home.take(slow);
    expect(home.endless).toEqual([]);
    expect(home.attempts).toEqual(['hog#1']);
  });

  test('begins although a newer one of it was sent meanwhile, which waits behind it', async () => {
    const { home, run, slow } = await waiting();
    home.ports.clock.advance(seconds(100));
    await sweepRun(home.worker, run);
    const [newer] = home.ports.jobs.takeSent();
    if (newer === undefined) throw new Error('it was not sent again');
    await home.take(newer);
    const [second] = home.ports.jobs.takeSent();
    if (second === undefined) throw new Error('nothing was sent to the slow lane');
    home.ports.clock.advance(seconds(200));
    await sweepRun(home.worker, run);
    expect(home.ports.jobs.takeSent()).toMatchObject([{ resend: 2 }]);
    // The first one's worker died, so that it comes back: both find that a newer one is on its way.
    for (const [job, isRedelivered] of [
      [slow, true],
      [second, false],
    ] as const) {
      const taking = home.take(job, { isRedelivered });
      await settled();
      home.endless.shift()?.();
      await taking;
      if (job === slow) expect(await statusOf(home, run)).toBe('failed');
    }
    expect(home.endless).toEqual([]);
  });

  test('whose run has passed its deadline ends the run, and does not begin', async () => {
    const { home, run, slow } = await waiting({ deadlineSeconds: 60 });
    home.ports.clock.advance(seconds(61));
    await home.take(slow);
    expect(home.endless).toEqual([]);
    expect((await home.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  });

  test('is not counted as lost, and its worker’s death is counted as any other', async () => {
    const { home, run, slow } = await waiting();
    const taking = home.take(slow, { isRedelivered: true });
    await settled();
    const key = nodeKey({ nodeId: nodeId('hog'), iteration: topLevel });
    expect(await home.ports.log.heartbeats(run)).toMatchObject([{ node: key, deliveries: { lost: [{}] } }]);
    home.endless.shift()?.();
    await taking;
  });
});

describe('where a project may take a part of the workers only', () => {
  const shares = fairSharesOf(10, 40);

  test('what was delayed is handed out by the queue that knows projects, and not by the one of delays', async () => {
    const home = homeOf(shares);
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const mustEndAt = after(home.ports.clock.now(), minutes(15));
    await handleJob(home.worker, job, { isRedelivered: false, isDelayed: true, mustEndAt });
    expect(home.attempts).toEqual([]);
    expect(home.ports.jobs.takeSent()).toEqual([job]);
    await handleJob(home.worker, job, { isRedelivered: false, mustEndAt });
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('a node behind a wait is sent to it as well', async () => {
    const home = homeOf(shares);
    await home.publish(workflow('flow', 'z>b', { z: { ms: 5_000 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    home.ports.clock.advance(minutes(10));
    for (const job of home.ports.jobs.takeDue()) await home.take(job);
    expect(home.ports.jobs.sent).toMatchObject([{ nodeId: 'b' }]);
    expect(home.attempts).not.toContain('b#1');
    expect(await statusOf(home, run)).toBe('running');
  });
});
