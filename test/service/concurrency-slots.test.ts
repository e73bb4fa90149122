/** Runs of a workflow that limits how many of them are at work: who is let in, who waits, and how a place becomes free again. */
import { describe, expect, it } from 'vitest';
import { type RunAddress, nodeId, workflowName } from '../../lib/engine/ids.ts';
import { isWaitingForSlot } from '../../lib/engine/log/fold.ts';
import { after, hours, minutes } from '../../lib/engine/time.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { stopTestRun } from '../../lib/service/runs/stop-test-run.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { type TestEnv, failing, createTestEnv, scope, workflow } from './test-env.ts';
import { CrashableProcesses, survives } from './crashable-processes.ts';
import { definitionOf, startTestRun } from './test-run-fixture.ts';

const flow = workflowName('flow');
const here = { ...scope, workflowName: flow };

/** A workflow `a>z z>b`, where z sleeps for an hour: a run is at work until somebody wakes it. */
const furnished = async (maxConcurrentRuns = 1, graph = 'a>z z>b'): Promise<TestEnv> => {
  const home = createTestEnv();
  await home.publish({ ...workflow('flow', graph, { z: { ms: hours(1) } }), options: { maxConcurrentRuns } });
  return home;
};

const begin = async (home: TestEnv, name: string, more: Parameters<TestEnv['start']>[0] = {}): Promise<RunAddress> => {
  const answer = await home.start({ workflowName: flow, idempotencyKey: name, ...more });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  home.ports.clock.advance(minutes(1));
  return { ...scope, runId: answer.runId };
};
/** Takes what can be taken now, and moves no clock. */
const work = async (home: TestEnv): Promise<void> => {
  for (let jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()]; jobs.length > 0;) {
    for (const job of jobs) await home.take(job);
    jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()];
  }
};
const standing = (home: TestEnv, runs: readonly RunAddress[]) =>
  Promise.all(
    runs.map(async (run) => {
      const { state } = await home.fold(run);
      return isWaitingForSlot(state) ? 'waits' : state.progress.status;
    }),
  );
const several = async (home: TestEnv, count: number): Promise<readonly RunAddress[]> => {
  const runs: RunAddress[] = [];
  for (let index = 0; index < count; index += 1) runs.push(await begin(home, `run-${index}`));
  await work(home);
  return runs;
};
const taken = async (home: TestEnv) => (await home.ports.concurrencySlots.taken(here)).map(({ runId }) => runId);
const left = async (home: TestEnv) => [await taken(home), await home.ports.concurrencySlots.waiting(here, 9)];
const sweep = async (home: TestEnv): Promise<void> => {
  await sweepRuns(home.worker, after(home.ports.clock.now(), minutes(1)));
  await work(home);
};

describe('a start', () => {
  it('beyond the places is accepted and begins nothing, and is let in when a place is free, in the order of the starts', async () => {
    const home = await furnished(2);
    const runs = await several(home, 4);
    expect(await standing(home, runs)).toEqual(['running', 'running', 'waits', 'waits']);
    expect(home.attempts).toEqual(['a#1', 'a#1']);
    await wakeRun(home.worker, runs[1] ?? never());
    await work(home);
    expect(await standing(home, runs)).toEqual(['running', 'completed', 'running', 'waits']);
    await home.settle();
    expect(await standing(home, runs)).toEqual(['completed', 'completed', 'completed', 'completed']);
    expect(await left(home)).toEqual([[], []]);
  });

  it('of a workflow without the setting asks for no place', async () => {
    const home = createTestEnv({ wrap: (deps) => ({ ...deps, concurrencySlots: forbidden }) });
    await home.publish(workflow('flow', 'a>b'));
    const run = await begin(home, 'run');
    await home.settle();
    expect(await standing(home, [run])).toEqual(['completed']);
  });

  it('that comes while others wait does not overtake them', async () => {
    const home = await furnished();
    const [first, second] = await several(home, 2);
    await cancelRun(home.worker, first ?? never());
    // Its word is on the way, and here somebody else comes first.
    const late = await begin(home, 'late');
    const word = home.ports.jobs.takeDue();
    for (const job of word.toReversed()) await home.take(job);
    await work(home);
    expect(await standing(home, [second ?? never(), late])).toEqual(['running', 'waits']);
  });

  it('for later waits for its time first, and stands among the others by it', async () => {
    const home = await furnished();
    const availableAt = after(home.ports.clock.now(), minutes(30));
    const later = await begin(home, 'later', { availableAt });
    const [now] = await several(home, 1);
    expect(await standing(home, [later, now ?? never()])).toEqual(['waits', 'running']);
    await cancelRun(home.worker, now ?? never());
    await work(home);
    expect([await standing(home, [later]), await left(home)]).toEqual([['waits'], [[], []]]);
    home.ports.clock.set(availableAt);
    for (const { job } of home.ports.timers.takeDue()) await home.take(job);
    await work(home);
    expect(await standing(home, [later])).toEqual(['running']);
  });

  it('that goes on from a node takes its results over and begins behind them when it has a place', async () => {
    const home = await furnished(1, 'a>b b>d');
    const [first] = await several(home, 1);
    await home.publish({
      ...workflow('flow', 'a>b b>d d>z', { z: { ms: hours(1) } }),
      version: 2,
      options: { maxConcurrentRuns: 1 },
    });
    const holder = await begin(home, 'holder');
    await work(home);
    const again = await rerunRun(home.worker, {
      sourceRun: first ?? never(),
      idempotencyKey: 'r',
      bodyHash: 'r',
      version: 2,
      from: nodeId('d'),
    });
    if (again.kind !== 'started') throw new Error(again.kind);
    const run = { ...scope, runId: again.runId };
    await work(home);
    expect(await standing(home, [holder, run])).toEqual(['running', 'waits']);
    home.attempts.length = 0;
    await wakeRun(home.worker, holder);
    await work(home);
    expect([await standing(home, [run]), home.attempts]).toEqual([['running'], ['d#1']]);
  });
});

describe('a run that waits', () => {
  it('can be cancelled, and its turn is the next one’s', async () => {
    const home = await furnished();
    const runs = await several(home, 3);
    await cancelRun(home.worker, runs[1] ?? never());
    await work(home);
    expect(await home.ports.concurrencySlots.waiting(here, 9)).toMatchObject([{ runId: runs[2]?.runId }]);
    await wakeRun(home.worker, runs[0] ?? never());
    await work(home);
    expect(await standing(home, runs)).toEqual(['completed', 'cancelled', 'running']);
  });

  it('is not begun by a wake, a resumption or a nudge', async () => {
    const home = await furnished();
    const [, second] = await several(home, 2);
    const run = second ?? never();
    expect(await wakeRun(home.worker, run)).toEqual({ kind: 'woken', nodeIds: [] });
    await resumeRun(home.worker, run, { reason: 'go' });
    await home.take({ kind: 'recheck', run });
    await work(home);
    expect(await standing(home, [run])).toEqual(['waits']);
  });

  it('fails at its deadline, which counts from its start', async () => {
    const home = createTestEnv();
    const options = { maxConcurrentRuns: 1, deadlineSeconds: 600 };
    await home.publish({ ...workflow('flow', 'a>s', { s: { name: 'paid' } }), options });
    const [, second] = await several(home, 2);
    for (let round = 0; round < 12; round += 1) {
      home.ports.clock.advance(minutes(2));
      await sweep(home);
    }
    const { state } = await home.fold(second ?? never());
    expect(state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    expect(await left(home)).toEqual([[], []]);
  });

  it('says so, and is found among those that wait', async () => {
    const home = await furnished(1);
    const [first, second] = await several(home, 2);
    const shown = async (run: RunAddress | undefined) => {
      const answer = await getRun(home.worker, run ?? never(), true);
      return answer.kind === 'found' ? answer.run.waitingForSlots : answer.kind;
    };
    expect([await shown(first), await shown(second)]).toEqual([undefined, 1]);
    home.ports.clock.advance(minutes(3));
    await sweep(home);
    const { heads } = await home.ports.index.listByState(scope, 'waiting', { limit: 9 });
    expect(heads.map(({ address }) => address.runId)).toContain(second?.runId);
  });

  it('is looked at by the sweep, which lets it in where every word was lost', async () => {
    const home = await furnished();
    const runs = await several(home, 2);
    await wakeRun(home.worker, runs[0] ?? never());
    for (const job of [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()])
      if (job.kind === 'node') await home.take(job);
    home.ports.jobs.takeDue();
    expect(await standing(home, runs)).toEqual(['completed', 'waits']);
    expect(await taken(home)).toEqual([runs[0]?.runId]);
    for (let round = 0; round < 12; round += 1) {
      home.ports.clock.advance(minutes(2));
      await sweep(home);
    }
    expect((await standing(home, runs))[1]).toBe('running');
  });
});

describe('a place', () => {
  it.each([
    ['ends well', async (home: TestEnv, run: RunAddress) => void (await wakeRun(home.worker, run))],
    ['is cancelled', async (home: TestEnv, run: RunAddress) => void (await cancelRun(home.worker, run))],
  ])('is free again when its run %s', async (_how, end) => {
    const home = await furnished();
    const [run] = await several(home, 1);
    expect(await taken(home)).toEqual([run?.runId]);
    await end(home, run ?? never());
    await work(home);
    expect(await left(home)).toEqual([[], []]);
  });

  it('is free again when its run fails', async () => {
    const home = createTestEnv({ answer: () => failing('invalid') });
    await home.publish({ ...workflow('flow', 'a>b'), options: { maxConcurrentRuns: 1 } });
    const runs = await several(home, 2);
    expect([await standing(home, runs), await left(home)]).toEqual([
      ['failed', 'failed'],
      [[], []],
    ]);
  });

  it('of a test run is one of the same workflow’s, and free when that is stopped and forgotten', async () => {
    const home = await furnished();
    const draft = { ...definitionOf('flow', 'a>z', { z: { ms: hours(1) } }), options: { maxConcurrentRuns: 1 } };
    const test = await startTestRun(home, draft);
    await work(home);
    const [waiting] = await several(home, 1);
    expect(await standing(home, [test, waiting ?? never()])).toEqual(['running', 'waits']);
    await stopTestRun(home.worker, test);
    await work(home);
    expect([await standing(home, [waiting ?? never()]), await taken(home)]).toEqual([['running'], [waiting?.runId]]);
  });

  it('of a test run that is forgotten is free though the word of its end was lost', async () => {
    const home = await furnished();
    const test = await startTestRun(home, {
      ...definitionOf('flow', 'a>z', { z: { ms: hours(1) } }),
      options: { maxConcurrentRuns: 1 },
    });
    await work(home);
    await cancelRun(home.worker, test);
    home.ports.jobs.takeDue();
    expect(await taken(home)).toEqual([test.runId]);
    await stopTestRun(home.worker, test);
    await work(home);
    expect(await left(home)).toEqual([[], []]);
  });

  it('of a test run that waited when it was forgotten is nobody’s', async () => {
    const home = await furnished();
    const [holder] = await several(home, 1);
    const test = await startTestRun(home, { ...definitionOf('flow', 'a>b'), options: { maxConcurrentRuns: 1 } });
    await work(home);
    await stopTestRun(home.worker, test);
    await work(home);
    expect(await left(home)).toEqual([[holder?.runId], []]);
  });

  it('is one of those of the run’s own version: a later version may have more', async () => {
    const home = await furnished(1);
    const old = await several(home, 2);
    await home.publish({ ...workflow('flow', 'a>z', { z: { ms: hours(1) } }), version: 2, options: { maxConcurrentRuns: 3 } });
    const young = [await begin(home, 'y1'), await begin(home, 'y2'), await begin(home, 'y3')];
    await work(home);
    expect([await standing(home, old), await standing(home, young)]).toEqual([
      ['running', 'waits'],
      ['running', 'running', 'waits'],
    ]);
    await cancelRun(home.worker, young[0] ?? never());
    await work(home);
    // The old one can have none but the first, and does not keep the others from theirs.
    expect([await standing(home, old), await standing(home, young)]).toEqual([
      ['running', 'waits'],
      ['cancelled', 'running', 'running'],
    ]);
  });

  it('is never held by two, whoever of those who give it dies, and nobody waits beside a free one', async () => {
    const play = async (
      aim?: ConstructorParameters<typeof CrashableProcesses>[1],
    ): Promise<{ calls: number; fault?: string }> => {
      const home = await furnished(1, 'a>b');
      const runs = [await begin(home, 'r1'), await begin(home, 'r2'), await begin(home, 'r3')];
      const processes = new CrashableProcesses(home.deps, aim);
      const undone: (() => Promise<void>)[] = [];
      for (let round = 0; round < 12; round += 1) {
        const jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()];
        await Promise.all(
          jobs.map(async (job) => {
            const isDone = await survives(home.take(job, { worker: { ...home.worker, deps: processes.start() } }));
            if (!isDone) undone.push(() => home.take(job, { isRedelivered: true }));
          }),
        );
      }
      const { calls } = processes;
      for (const again of undone) await again();
      await work(home);
      for (let round = 0; round < 15; round += 1) {
        home.ports.clock.advance(minutes(2));
        await sweep(home);
      }
      const ended = (await standing(home, runs)).every((status) => status === 'completed');
      const [held, waiting] = await left(home);
      return ended && held?.length === 0 && waiting?.length === 0 ? { calls } : { calls, fault: JSON.stringify([held, waiting]) };
    };
    const { calls } = await play();
    expect(calls).toBeGreaterThan(40);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['before', 'after'] as const)
        expect([call, kind, (await play({ call, kind })).fault]).toEqual([call, kind, undefined]);
    }
  });
});

const forbidden = new Proxy({} as TestEnv['deps']['concurrencySlots'], {
  get: (_none, name) => {
    throw new Error(`${String(name)} of the places was asked`);
  },
});

const never = (): never => {
  throw new Error('there is no such run');
};
