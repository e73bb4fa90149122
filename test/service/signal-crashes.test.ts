/**
 * A crash before and after every port call of everybody who takes part in a meeting: senders, workers, a cancel. Whoever
 * died, each signal is given once, no run is left waiting beside a signal, and a repeated sending is answered.
 */
import { expect, it } from 'vitest';
import { type RunAddress, type SignalId, firstCommit, signalId, workflowName } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import type { Worker } from '../../lib/service/execution/run-node.ts';
import { type SendSignalResult, sendSignal } from '../../lib/service/runs/send-signal.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';

const place = { name: 'paid', correlation: 'order-7' };

class Scene {
  readonly home: TestEnv = createTestEnv();
  readonly processes: CrashableProcesses;
  readonly runs: RunAddress[] = [];
  /** messages whose taker died: they come back */
  readonly #undone: Job[] = [];
  readonly answers = new Map<SignalId, SendSignalResult | undefined>();
  #started = 0;

  constructor(aim: CrashPoint | undefined) {
    this.processes = new CrashableProcesses(this.home.deps, aim);
  }

  #worker(deps: Deps): Worker {
    return { ...this.home.worker, deps, foldCache: new FoldCache() };
  }

  async publish(patience: { ms?: number } = {}): Promise<void> {
    await this.home.publish(workflow('flow', 'a>s s>b', { s: { ...place, ...patience } }));
  }

  /** A run whose first job is on its way. */
  async begin(): Promise<RunAddress> {
    const answer = await this.home.start({
      workflowName: workflowName('flow'),
      idempotencyKey: `start-${(this.#started += 1)}`,
    });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const run = { ...scope, runId: answer.runId };
    this.runs.push(run);
    return run;
  }

  /** Each job that is there is taken by a process of its own, at once. */
  async work(jobs: readonly Job[] = this.home.ports.jobs.takeSent()): Promise<void> {
    await Promise.all(
      jobs.map(async (job) => {
        const isDone = await survives(this.home.take(job, { worker: this.#worker(this.processes.start()) }));
        if (!isDone) this.#undone.push(job);
      }),
    );
  }

  async send(name: string, deps: Deps = this.processes.start()): Promise<void> {
    const id = signalId(name);
    if (!this.answers.has(id)) this.answers.set(id, undefined);
    const request = { ...place, payload: name, signalId: id, bodyHash: name, expiresIn: days(30) };
    await survives(sendSignal(this.#worker(deps), scope, request).then((answer) => void this.answers.set(id, answer)));
  }

  async cancel(run: RunAddress): Promise<void> {
    const isDone = await survives(cancelRun(this.#worker(this.processes.start()), run));
    if (!isDone) await cancelRun(this.home.worker, run);
  }

  /** Nobody dies any more: senders repeat, messages come back, the sweep goes by. */
  async heal(): Promise<void> {
    for (const [id, answer] of this.answers) if (answer === undefined) await this.send(id, this.home.deps);
    this.home.ports.clock.advance(minutes(2));
    for (let round = 0; round < 8; round += 1) {
      await sweepRuns(this.home.worker, after(this.home.ports.clock.now(), minutes(1)));
      await this.home.settle();
      this.home.ports.clock.advance(minutes(2));
    }
    for (const job of this.#undone.splice(0)) await this.home.take(job, { isRedelivered: true });
    await this.home.settle();
  }

  async events(): Promise<readonly RunEvent[]> {
    const all: RunEvent[] = [];
    for (const run of this.runs) {
      const { head } = await this.home.fold(run);
      all.push(...head.commit.events);
      for (const { events } of await this.home.ports.log.commitsAfter(run, firstCommit)) all.push(...events);
    }
    return all;
  }

  async statuses(): Promise<readonly string[]> {
    return Promise.all(this.runs.map(async (run) => (await this.home.fold(run)).state.progress.status));
  }

  /** The signals that runs were given, and how often. */
  async given(): Promise<readonly string[]> {
    const events = await this.events();
    return events.flatMap((event) => (event.type === 'SIGNAL_RECEIVED' ? [event.signalId] : [])).toSorted();
  }

  isAnsweredAsDelivered(name: string): boolean {
    const answer = this.answers.get(signalId(name));
    return answer?.kind === 'sent' && answer.isDelivered;
  }
}

/** Plays the scene with a crash before and after each port call that it makes, and judges each time. */
function everywhere(
  what: string,
  play: (scene: Scene) => Promise<void>,
  judge: (scene: Scene) => Promise<void>,
  atLeast: number,
) {
  it(what, async () => {
    const whole = new Scene(undefined);
    await play(whole);
    const { calls } = whole.processes;
    expect(calls).toBeGreaterThan(atLeast);
    await whole.heal();
    await judge(whole);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['before', 'after'] as const) {
        const scene = new Scene({ call, kind });
        await play(scene);
        await scene.heal();
        await judge(scene).catch((trouble: unknown) => {
          throw new Error(`killed ${kind} call ${call} of ${calls}`, { cause: trouble });
        });
      }
    }
  });
}

everywhere(
  'a signal that is sent before its wait begins',
  async (scene) => {
    await scene.publish();
    await scene.send('one');
    await scene.begin();
    await scene.work();
  },
  async (scene) => {
    expect([await scene.statuses(), await scene.given()]).toEqual([['completed'], ['one']]);
    expect(scene.answers.get(signalId('one'))).toMatchObject({ kind: 'sent', signalId: 'one' });
  },
  15,
);

everywhere(
  'a signal that is sent to a wait',
  async (scene) => {
    await scene.publish();
    await scene.begin();
    await scene.work();
    await scene.send('one');
    await scene.work();
  },
  async (scene) => {
    expect([await scene.statuses(), await scene.given()]).toEqual([['completed'], ['one']]);
  },
  15,
);

everywhere(
  'a signal that is sent while its wait begins',
  async (scene) => {
    await scene.publish();
    await scene.begin();
    await Promise.all([scene.work(), scene.send('one')]);
  },
  async (scene) => {
    expect([await scene.statuses(), await scene.given()]).toEqual([['completed'], ['one']]);
  },
  15,
);

everywhere(
  'two waits and two signals, all at once',
  async (scene) => {
    await scene.publish();
    await scene.begin();
    await scene.begin();
    await Promise.all([scene.send('one'), scene.work(), scene.send('two')]);
  },
  async (scene) => {
    expect([await scene.statuses(), await scene.given()]).toEqual([
      ['completed', 'completed'],
      ['one', 'two'],
    ]);
  },
  40,
);

/** Whatever became of the first run, the signal is not lost: a second run gets it, or the next one. */
const nextRun = async (scene: Scene): Promise<void> => {
  const before = await scene.given();
  await scene.publish();
  await scene.begin();
  await scene.work();
  if (before.includes('one')) await scene.send('two');
  await scene.heal();
  const isTwo = before.includes('one');
  expect(await scene.given()).toEqual(isTwo ? ['one', 'two'] : ['one']);
  expect((await scene.statuses()).at(-1)).toBe('completed');
};

everywhere(
  'the end of a wait against its signal',
  async (scene) => {
    await scene.publish({ ms: 600_000 });
    await scene.begin();
    await scene.work();
    scene.home.ports.clock.advance(minutes(10));
    await Promise.all([scene.work(scene.home.ports.jobs.takeDue().filter(({ kind }) => kind === 'wake')), scene.send('one')]);
  },
  async (scene) => {
    const isGiven = (await scene.given()).includes('one');
    expect(await scene.statuses()).toEqual([isGiven ? 'completed' : 'failed']);
    if (scene.isAnsweredAsDelivered('one')) expect(isGiven).toBe(true);
    await nextRun(scene);
  },
  15,
);

everywhere(
  'a cancel against the signal',
  async (scene) => {
    await scene.publish();
    const run = await scene.begin();
    await scene.work();
    await Promise.all([scene.cancel(run), scene.send('one')]);
  },
  async (scene) => {
    // The cancel comes in while the run waits, or while it works on with the signal.
    expect(await scene.statuses()).toEqual(['cancelled']);
    if (scene.isAnsweredAsDelivered('one')) expect(await scene.given()).toEqual(['one']);
    await nextRun(scene);
  },
  15,
);
