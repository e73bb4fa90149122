/** Fair shares: long scripts use at most their project's share of the workers, and other work continues beside them. */
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
import { after, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { NodeJob } from '../../lib/ports/jobs.ts';
import { withoutRun } from '../../lib/service/run-log/carried-run.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { Plans, type RunAttempt } from '../../lib/service/commit/plans.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { simulatedTypes } from '../simulation/random-graph.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { handleJob } from '../../lib/service/execution/handle-job.ts';
import { commitsOf } from './code-test-env.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from './test-env.ts';

const timedOut = {
  kind: 'failed',
  failure: { cause: 'timeout', code: 'script_timeout', message: 'the script took longer than its limit' },
} as const;

interface Home extends TestEnv {
  /** attempts of endless scripts without a time slice, and functions that end them */
  readonly endless: ((outcome?: Outcome) => void)[];
  /** number of endless scripts that have started a time slice */
  slices: number;
}

/** A test environment whose nodes named `hog…` never end by themselves. Their time slice decides what they do. */
function homeOf(shares: FairShares | undefined): Home {
  const base = createTestEnv({ wrap: (deps) => ({ ...deps, settings: { ...deps.settings, shares } }) });
  const { clock } = base.ports;
  const runAttempt: RunAttempt = async (node, _input, attempt) => {
    base.attempts.push(`${node.id}#${attempt.number}`);
    if (!node.id.startsWith('hog')) return { outcome: finished(node.id), printed: [] };
    if (attempt.timeSlice !== undefined) {
      env.slices += 1;
      clock.advance(attempt.timeSlice);
      throw new TimeSliceExceeded();
    }
    const outcome = await new Promise<Outcome>((resolve) => env.endless.push((given = timedOut) => resolve(given)));
    return { outcome, printed: [] };
  };
  const worker = { ...base.worker, runAttempt };
  const env: Home = {
    ...base,
    worker,
    endless: [],
    slices: 0,
    take: (job, options = {}) => base.take(job, { worker, ...options }),
  };
  return env;
}

const settled = async (): Promise<void> => {
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** The node queue: in the order of sending, with one message in flight per group. */
function queueOf(env: Home, workers: number, shares: FairShares) {
  const waiting: NodeJob[] = [];
  const inFlight = new Map<string, NodeJob>();
  let mostSlow = 0;
  const pump = (): void => {
    waiting.push(...env.ports.jobs.takeSent());
    for (const job of waiting.slice()) {
      const { group } = nodeJobIdentity(job, shares);
      if (inFlight.size >= workers) return;
      if (inFlight.has(group)) continue;
      waiting.splice(waiting.indexOf(job), 1);
      inFlight.set(group, job);
      mostSlow = Math.max(mostSlow, [...inFlight.values()].filter((each) => each.slowLane !== undefined).length);
      void env.take(job).finally(() => {
        inFlight.delete(group);
        pump();
      });
    }
  };
  return {
    waiting,
    inFlight,
    mostSlow: () => mostSlow,
    /** delivers jobs until every worker runs a script or no job remains */
    run: async () => {
      pump();
      await settled();
    },
  };
}

const other: Scope = { ...scope, projectId: projectId('other') };

async function begin(env: Home, name: string, number: number, of: Scope = scope): Promise<RunAddress> {
  const answer = await env.start({ scope: of, workflowName: workflowName(name), idempotencyKey: `${name}-${number}` });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...of, runId: answer.runId };
}

const statusOf = async (env: Home, run: RunAddress) => (await env.fold(run)).state.progress.status;
const numbers = (count: number) => Array.from({ length: count }, (_one, number) => number);

describe('twenty endless scripts on four workers', () => {
  const shares = fairSharesOf(4, 100);

  test('use at most their share; other nodes of the project and of another one run beside them, and each ends once', async () => {
    const env = homeOf(shares);
    await env.publish(workflow('hostile', 'hog>b'));
    await env.publish(workflow('quick', 'a>b'));
    await env.ports.workflows.putVersion(other, workflow('quick', 'a>b'), env.ports.clock.now());
    await env.ports.workflows.advance(other, workflow('quick', 'a>b'), env.ports.clock.now());
    const hostile: RunAddress[] = [];
    for (const number of numbers(20)) hostile.push(await begin(env, 'hostile', number));
    const queue = queueOf(env, 4, shares);
    await queue.run();
    expect(env.slices).toBe(20);
    expect(queue.inFlight.size).toBe(1);

    const quick = [await begin(env, 'quick', 1), await begin(env, 'quick', 2, other)];
    await queue.run();
    for (const run of quick) expect(await statusOf(env, run)).toBe('completed');
    expect(queue.waiting).toHaveLength(19);
    for (const run of hostile) expect(await statusOf(env, run)).toBe('pending');

    while (env.endless.length > 0) {
      env.endless.shift()?.();
      await queue.run();
    }
    expect(queue.mostSlow()).toBe(1);
    for (const run of hostile) {
      const { state } = await env.fold(run);
      expect(state.progress).toMatchObject({ status: 'failed' });
      const failures = (await commitsOf(env, run)).flatMap(({ events }) => events.filter(({ type }) => type === 'NODE_FAILED'));
      expect(failures).toMatchObject([{ nodeId: 'hog', failure: { code: 'script_timeout' } }]);
    }
  });

  test('of many workflows use half of the workers, and another project’s script starts meanwhile', async () => {
    const env = homeOf(shares);
    for (const number of numbers(10)) await env.publish(workflow(`hostile${number}`, 'hog>b'));
    for (const number of numbers(20)) await begin(env, `hostile${number % 10}`, number);
    await env.ports.workflows.putVersion(other, workflow('hostile0', 'hog>b'), env.ports.clock.now());
    await env.ports.workflows.advance(other, workflow('hostile0', 'hog>b'), env.ports.clock.now());
    const queue = queueOf(env, 4, shares);
    await queue.run();
    expect(queue.inFlight.size).toBe(2);
    await begin(env, 'hostile0', 1, other);
    await queue.run();
    expect(queue.inFlight.size).toBe(3);
    expect([...queue.inFlight.values()].filter(({ run }) => run.projectId === other.projectId)).toHaveLength(1);
    while (env.endless.length > 0) {
      env.endless.shift()?.();
      await queue.run();
    }
    expect(queue.mostSlow()).toBe(3);
  });
});

describe('a time slice', () => {
  const shares = fairSharesOf(8, 100);
  const moved = async (drawn = 'hog>b', options = {}) => {
    const env = homeOf(shares);
    await env.publish({ ...workflow('flow', drawn), options });
    const run = await env.begin('flow');
    const [first] = env.ports.jobs.takeSent();
    if (first === undefined) throw new Error('no job was sent');
    const commits = await commitsOf(env, run);
    await env.take(first);
    const [slow, ...rest] = env.ports.jobs.takeSent();
    if (slow === undefined) throw new Error('nothing was sent to the slow lane');
    expect(rest).toEqual([]);
    return { env, run, first, slow, commits };
  };

  test('is not used if the queue has no message groups', async () => {
    const env = homeOf(undefined);
    await env.publish(workflow('flow', 'hog>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = env.take(job);
    await settled();
    env.endless.shift()?.();
    await taking;
    expect(env.slices).toBe(0);
    expect(await statusOf(env, run)).toBe('failed');
  });

  test('that is used up commits nothing, records nothing, and sends the same job to the slow lane', async () => {
    const { env, run, first, slow, commits } = await moved();
    const of = { runId: run.runId, node: first, resend: 0 };
    expect(slow).toEqual({ ...withoutRun(first), slowLane: slowLaneGroup(shares, workflowName('flow'), of) });
    expect(await commitsOf(env, run)).toEqual(commits);
    expect(await env.ports.log.heartbeats(run)).toEqual([]);
  });

  test('of an inline node ends in the same way', async () => {
    const { env, slow } = await moved('a>hog');
    expect(env.attempts).toEqual(['a#1', 'hog#1']);
    expect(slow).toMatchObject({ nodeId: 'hog', commit: 2, attempt: 1, resend: 0 });
    expect(slow.slowLane).toBeTypeOf('number');
  });

  test('a redelivery after the job moved does no harm: the slow lane runs it once', async () => {
    const { env, run, first, slow } = await moved();
    await env.take(first, { isRedelivered: true });
    const again = env.ports.jobs.takeSent();
    expect(again).toEqual([slow]);
    const heartbeat = (await env.ports.log.heartbeats(run)).find(({ node }) => node === 'hog');
    // The first delivery's worker counts as crashed; this one left the attempt to the slow lane.
    expect(heartbeat?.deliveries).toEqual({
      lost: [expect.not.objectContaining({ begunAt: expect.anything() })],
      isReleased: true,
    });
    const taking = env.take(slow);
    await settled();
    expect(env.endless).toHaveLength(1);
    env.endless.shift()?.();
    await taking;
    for (const each of again) await env.take(each);
    expect(env.endless).toEqual([]);
    expect(env.attempts).toEqual(['hog#1', 'hog#1', 'hog#1']);
    const failed = (await commitsOf(env, run)).flatMap(({ events }) => events.filter(({ type }) => type === 'NODE_FAILED'));
    expect(failed).toHaveLength(1);
  });

  test('of a resent job does not count as a crash, and does not block the slow lane’s next worker', async () => {
    const { env, run, first } = await moved();
    env.ports.clock.advance(seconds(100));
    await sweepRun(env.worker, run);
    const [again] = env.ports.jobs.takeSent();
    expect(again).toMatchObject({ nodeId: 'hog', resend: 1 });
    expect(again).not.toHaveProperty('slowLane');
    if (again === undefined) throw new Error('it was not sent again');
    await env.take(again);
    const [slow] = env.ports.jobs.takeSent();
    if (slow === undefined) throw new Error('nothing was sent to the slow lane');
    expect(slow).toMatchObject({
      resend: 1,
      slowLane: slowLaneGroup(shares, workflowName('flow'), { runId: run.runId, node: first, resend: 1 }),
    });
    expect(await env.ports.log.heartbeats(run)).toMatchObject([{ node: 'hog', resends: 1, deliveries: { lost: [] } }]);
    const taking = env.take(slow);
    await settled();
    expect(env.endless).toHaveLength(1);
    env.endless.shift()?.();
    await taking;
    expect(await statusOf(env, run)).toBe('failed');
  });

  test('is used again once per resend, and resends become rarer the longer the slow lane is', async () => {
    const { env, run } = await moved();
    let resent = 0;
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      env.ports.clock.advance(minutes(1));
      await sweepRun(env.worker, run);
      for (const job of env.ports.jobs.takeSent())
        if (job.slowLane === undefined) {
          resent += 1;
          await env.take(job);
        }
    }
    // Doubling from 100 s to an hour, then once an hour.
    expect(resent).toBeLessThanOrEqual(6 + 24);
    expect(env.slices).toBe(1 + resent);
    const [heartbeat] = await env.ports.log.heartbeats(run);
    expect(heartbeat?.deliveries?.lost).toEqual([]);
  });

  test('is not used in the slow lane: the next node is sent to the queue, and uses no slow-lane slot', async () => {
    const { env, run, slow } = await moved('hog>a a>b');
    const taking = env.take(slow);
    await settled();
    env.endless.shift()?.(finished('late'));
    await taking;
    expect(env.attempts).toEqual(['hog#1', 'hog#1']);
    const sent = env.ports.jobs.takeSent();
    expect(sent).toMatchObject([{ nodeId: 'a' }]);
    for (const job of sent) await env.take(job);
    expect(env.attempts).toEqual(['hog#1', 'hog#1', 'a#1', 'b#1']);
    expect(await statusOf(env, run)).toBe('completed');
  });
});

/** A script of one attempt, and its time slice; the slow lane has none. */
interface Given {
  readonly node: string;
  readonly slice: number | 'slow lane';
}

/** Workers, each a process of its own, whose scripts need the CPU time that the test says. */
function processesOf(
  count: number,
  neededMs: (node: string) => number,
  more: { readonly outcome?: Outcome; readonly wallMs?: number } = {},
) {
  const env = homeOf(fairSharesOf(8, 100));
  const given: Given[] = [];
  const runAttempt: RunAttempt = async ({ id }, _input, { timeSlice }) => {
    given.push({ node: id, slice: timeSlice ?? 'slow lane' });
    env.ports.clock.advance(durationMs(more.wallMs ?? 1));
    const cpuMs = neededMs(id);
    if (timeSlice !== undefined && cpuMs > timeSlice) throw new TimeSliceExceeded();
    return { outcome: more.outcome ?? finished(id), printed: [], ...(Number.isNaN(cpuMs) ? {} : { cpuMs }) };
  };
  const workers = Array.from({ length: count }, () => ({
    ...env.worker,
    runAttempt,
    plans: new Plans(simulatedTypes),
    foldCache: new FoldCache(),
  }));
  const take = async (job: NodeJob, by: number): Promise<void> => {
    const worker = workers[by];
    if (worker === undefined) throw new Error(`there is no process ${by}`);
    await env.take(job, { worker });
  };
  /** Starts a run of the workflow `flow`, and executes all its jobs. */
  const play = async (number: number, by: (job: NodeJob) => number = () => 0): Promise<RunAddress> => {
    const run = await begin(env, 'flow', number);
    for (let jobs = env.ports.jobs.takeSent(); jobs.length > 0; jobs = env.ports.jobs.takeSent())
      for (const job of jobs) await take(job, by(job));
    return run;
  };
  return { env, given, take, play };
}

describe('the time slice of a node', () => {
  /** Runs of `a` and an end in one process, one after the other. `needs`: the CPU time of each run's script; NaN: unknown. */
  const slicesOf = async (needs: readonly number[], more: Parameters<typeof processesOf>[2] = {}) => {
    let needed = 0;
    const { env, given, play } = processesOf(1, () => needed, more);
    await env.publish(workflow('flow', 'a>e'));
    const runs: RunAddress[] = [];
    for (const [number, ms] of needs.entries()) {
      needed = ms;
      runs.push(await play(number));
    }
    return { env, runs, slices: given.map(({ slice }) => slice) };
  };

  test('is 50 ms at first. A script of 70 ms starts twice until the process has seen it end in the slow lane, then once', async () => {
    const { env, runs, slices } = await slicesOf([70, 70, 70]);
    expect(slices).toEqual([50, 'slow lane', 100, 100]);
    for (const run of runs) expect(await statusOf(env, run)).toBe('completed');
  });

  test('is 100 ms after a script that ended within its slice, and 10 ms after scripts that spent theirs', async () => {
    const { slices } = await slicesOf([20, 90, 5_000, 5_000, 5_000, 5]);
    expect(slices).toEqual([50, 100, 100, 'slow lane', 50, 'slow lane', 10, 'slow lane', 10]);
  });

  test('lets one outlier of a proven node pay, and no other script', async () => {
    const { slices } = await slicesOf([30, 150, 30, 30, 150, 30]);
    expect(slices).toEqual([50, 100, 'slow lane', 50, 100, 100, 'slow lane', 50]);
  });

  test('is 100 ms again after the first short script that follows several long ones', async () => {
    const { slices } = await slicesOf([150, 150, 30, 30, 30]);
    expect(slices).toEqual([50, 'slow lane', 10, 'slow lane', 10, 'slow lane', 100, 100]);
  });

  test('counts 100 ms as short, and 101 ms as long', async () => {
    expect((await slicesOf([100, 1])).slices).toEqual([50, 'slow lane', 100]);
    expect((await slicesOf([101, 1])).slices).toEqual([50, 'slow lane', 10]);
  });

  test('learns nothing from a script whose CPU time is unknown', async () => {
    expect((await slicesOf([NaN, NaN])).slices).toEqual([50, 50]);
    expect((await slicesOf([70, NaN, 100])).slices).toEqual([50, 'slow lane', 100, 100]);
  });

  test('learns from CPU time, and not from the time by the clock', async () => {
    const { slices } = await slicesOf([70, 70, 150, 150, 150], { wallMs: 20_000 });
    expect(slices).toEqual([50, 'slow lane', 100, 100, 'slow lane', 50, 'slow lane', 10, 'slow lane']);
    expect((await slicesOf([150, 150], { wallMs: 1 })).slices).toEqual([50, 'slow lane', 10, 'slow lane']);
  });

  test('learns from a failure as from a result: an error of the script, or its own time limit', async () => {
    const threw = { kind: 'failed', failure: { cause: 'error', code: 'script_threw', message: 'no' } } as const;
    for (const outcome of [threw, timedOut]) {
      expect((await slicesOf([30, 90], { outcome })).slices).toEqual([50, 100]);
      expect((await slicesOf([70, 90], { outcome })).slices).toEqual([50, 'slow lane', 100]);
    }
  });

  test('is learned in each process alone, and for each node alone', async () => {
    const { env, given, play } = processesOf(2, (node) => (node === 'a' ? 70 : 5));
    await env.publish(workflow('flow', 'a>b'));
    await play(1, ({ slowLane }) => (slowLane === undefined ? 0 : 1));
    await play(2, () => 0);
    await play(3, () => 0);
    await play(4, () => 1);
    const ofA = given.filter(({ node }) => node === 'a').map(({ slice }) => slice);
    expect(ofA).toEqual([50, 'slow lane', 10, 'slow lane', 100, 100]);
    // In the first process in the first three runs, then in the second one.
    expect(given.filter(({ node }) => node === 'b').map(({ slice }) => slice)).toEqual([50, 100, 100, 50]);
  });

  test('is learned in packs too', async () => {
    let needed = 20;
    const { env, given, play } = processesOf(1, (node) => (node === 'b' ? needed : 5));
    const configs = { a: { idempotent: true }, b: { idempotent: true } };
    await env.publish(workflow('flow', 'a>b b>e', configs));
    // One commit for the results of both nodes: they were a pack.
    expect(await commitsOf(env, await play(1))).toHaveLength(2);
    needed = 5_000;
    await play(2);
    await play(3);
    needed = 30;
    await play(4);
    await play(5);
    const ofB = given.filter(({ node }) => node === 'b').map(({ slice }) => slice);
    expect(ofB).toEqual([50, 100, 'slow lane', 50, 'slow lane', 10, 'slow lane', 100]);
  });

  test('of an endless script: twenty jobs on four processes get 360 ms of CPU time outside the slow lane', async () => {
    const { env, given, take } = processesOf(4, () => Infinity);
    await env.publish(workflow('flow', 'a>e'));
    for (const number of numbers(20)) await begin(env, 'flow', number);
    const jobs = env.ports.jobs.takeSent();
    for (const [number, job] of jobs.entries()) await take(job, number % 4);
    const slices = given.map(({ slice }) => Number(slice));
    expect(slices).toHaveLength(20);
    expect(slices.filter((slice) => slice === firstTimeSlice)).toHaveLength(4);
    expect(slices.filter((slice) => slice === repeatTimeSlice)).toHaveLength(16);
    expect(slices.reduce((sum, slice) => sum + slice, 0)).toBe(360);
    expect(env.ports.jobs.takeSent().filter(({ slowLane }) => slowLane !== undefined)).toHaveLength(20);
  });

  test('and the CPU time of its scripts are not in the log', async () => {
    const { env, runs } = await slicesOf([70, 70]);
    for (const run of runs) expect(JSON.stringify(await commitsOf(env, run))).not.toContain('cpuMs');
  });
});

describe('a job in the slow lane', () => {
  const shares = fairSharesOf(8, 100);
  const waiting = async (options = {}) => {
    const env = homeOf(shares);
    await env.publish({ ...workflow('flow', 'hog>b'), options });
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const [slow] = env.ports.jobs.takeSent();
    if (slow?.slowLane === undefined) throw new Error('nothing was sent to the slow lane');
    return { env, run, slow };
  };

  test('of a run cancelled meanwhile does nothing, in a worker with an old fold of the run', async () => {
    const { env, run, slow } = await waiting();
    // By another process, so this worker's fold is old.
    await cancelRun({ ...env.worker }, run);
    await env.take(slow);
    expect(env.endless).toEqual([]);
    expect(env.attempts).toEqual(['hog#1']);
  });

  test('starts even if a newer one was sent meanwhile, which waits behind it', async () => {
    const { env, run, slow } = await waiting();
    env.ports.clock.advance(seconds(100));
    await sweepRun(env.worker, run);
    const [newer] = env.ports.jobs.takeSent();
    if (newer === undefined) throw new Error('it was not sent again');
    await env.take(newer);
    const [second] = env.ports.jobs.takeSent();
    if (second === undefined) throw new Error('nothing was sent to the slow lane');
    env.ports.clock.advance(seconds(200));
    await sweepRun(env.worker, run);
    expect(env.ports.jobs.takeSent()).toMatchObject([{ resend: 2 }]);
    // The worker of the first one crashed, so it is redelivered. Both find that a newer one was sent.
    for (const [job, isRedelivered] of [
      [slow, true],
      [second, false],
    ] as const) {
      const taking = env.take(job, { isRedelivered });
      await settled();
      env.endless.shift()?.();
      await taking;
      if (job === slow) expect(await statusOf(env, run)).toBe('failed');
    }
    expect(env.endless).toEqual([]);
  });

  test('of a run past its deadline ends the run, and does not start', async () => {
    const { env, run, slow } = await waiting({ deadlineSeconds: 60 });
    env.ports.clock.advance(seconds(61));
    await env.take(slow);
    expect(env.endless).toEqual([]);
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  });

  test('does not count as a crash by itself; a crash of its worker counts as usual', async () => {
    const { env, run, slow } = await waiting();
    const taking = env.take(slow, { isRedelivered: true });
    await settled();
    const key = nodeKey({ nodeId: nodeId('hog'), iteration: topLevel });
    expect(await env.ports.log.heartbeats(run)).toMatchObject([{ node: key, deliveries: { lost: [{}] } }]);
    env.endless.shift()?.();
    await taking;
  });
});

describe('with fair shares', () => {
  const shares = fairSharesOf(10, 40);

  test('a delayed job is executed from the node queue, not from the delay queue', async () => {
    const env = homeOf(shares);
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const mustEndAt = after(env.ports.clock.now(), minutes(15));
    await handleJob(env.worker, job, { isRedelivered: false, isDelayed: true, mustEndAt });
    expect(env.attempts).toEqual([]);
    expect(env.ports.jobs.takeSent()).toEqual([job]);
    await handleJob(env.worker, job, { isRedelivered: false, mustEndAt });
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a node after a wait goes to the node queue too', async () => {
    const env = homeOf(shares);
    await env.publish(workflow('flow', 'z>b', { z: { ms: 5_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    env.ports.clock.advance(minutes(10));
    for (const job of env.ports.jobs.takeDue()) await env.take(job);
    expect(env.ports.jobs.sent).toMatchObject([{ nodeId: 'b' }]);
    expect(env.attempts).not.toContain('b#1');
    expect(await statusOf(env, run)).toBe('running');
  });
});
