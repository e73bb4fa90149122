/**
 * Crashes before and after every port call of all participants in signal matching: senders, workers, a cancel. After each crash, each
 * signal is delivered once, no run waits while a signal is free, and a repeated send returns the same answer.
 */
import { expect, it } from 'vitest';
import { type RunAddress, type SignalId, firstCommit, signalId, workflowName } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { type SendSignalResult, sendSignal } from '../../lib/service/runs/send-signal.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

const place = { name: 'paid', correlation: 'order-7' };

class Scenario {
  readonly env: TestEnv = createTestEnv();
  readonly processes: CrashableProcesses;
  readonly runs: RunAddress[] = [];
  /** messages whose receiver crashed; they are redelivered */
  readonly #undone: Job[] = [];
  readonly answers = new Map<SignalId, SendSignalResult | undefined>();
  #started = 0;

  constructor(aim: CrashPoint | undefined) {
    this.processes = new CrashableProcesses(this.env.deps, aim);
  }

  #worker(deps: Deps): JobHandler {
    return { ...this.env.worker, deps, foldCache: new FoldCache() };
  }

  async publish(patience: { ms?: number } = {}): Promise<void> {
    await this.env.publish(workflow('flow', 'a>s s>b', { s: { ...place, ...patience } }));
  }

  /** A run whose first job is in the queue. */
  async begin(): Promise<RunAddress> {
    const answer = await this.env.start({
      workflowName: workflowName('flow'),
      idempotencyKey: `start-${(this.#started += 1)}`,
    });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const run = { ...scope, runId: answer.runId };
    this.runs.push(run);
    return run;
  }

  /** Each pending job is processed by a separate process, all at once. */
  async work(jobs: readonly Job[] = this.env.ports.jobs.takeSent()): Promise<void> {
    await Promise.all(
      jobs.map(async (job) => {
        const isDone = await survives(this.env.take(job, { worker: this.#worker(this.processes.start()) }));
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
    if (!isDone) await cancelRun(this.env.worker, run);
  }

  /** Without further crashes: senders repeat, messages are redelivered, and the sweep runs. */
  async recover(): Promise<void> {
    for (const [id, answer] of this.answers) if (answer === undefined) await this.send(id, this.env.deps);
    this.env.ports.clock.advance(minutes(2));
    for (let round = 0; round < 8; round += 1) {
      await sweepRuns(this.env.worker, after(this.env.ports.clock.now(), minutes(1)));
      await this.env.settle();
      this.env.ports.clock.advance(minutes(2));
    }
    for (const job of this.#undone.splice(0)) await this.env.take(job, { isRedelivered: true });
    await this.env.settle();
  }

  async events(): Promise<readonly RunEvent[]> {
    const all: RunEvent[] = [];
    for (const run of this.runs) {
      const { head } = await this.env.fold(run);
      all.push(...head.commit.events);
      for (const { events } of await this.env.ports.log.commitsAfter(run, firstCommit)) all.push(...events);
    }
    return all;
  }

  async statuses(): Promise<readonly string[]> {
    return Promise.all(this.runs.map(async (run) => (await this.env.fold(run)).state.progress.status));
  }

  /** The signals that the runs received, with repetitions. */
  async given(): Promise<readonly string[]> {
    const events = await this.events();
    return events.flatMap((event) => (event.type === 'SIGNAL_RECEIVED' ? [event.signalId] : [])).toSorted();
  }

  isAnsweredAsDelivered(name: string): boolean {
    const answer = this.answers.get(signalId(name));
    return answer?.kind === 'sent' && answer.isDelivered;
  }
}

/** Runs the scenario with a crash before and after each of its port calls, and checks the result each time. */
function everywhere(
  what: string,
  play: (scenario: Scenario) => Promise<void>,
  check: (scenario: Scenario) => Promise<void>,
  atLeast: number,
) {
  it(what, async () => {
    const whole = new Scenario(undefined);
    await play(whole);
    const { calls } = whole.processes;
    expect(calls).toBeGreaterThan(atLeast);
    await whole.recover();
    await check(whole);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['before', 'after'] as const) {
        const scenario = new Scenario({ call, kind });
        await play(scenario);
        await scenario.recover();
        await check(scenario).catch((error: unknown) => {
          throw new Error(`killed ${kind} call ${call} of ${calls}`, { cause: error });
        });
      }
    }
  });
}

everywhere(
  'a signal that is sent before its wait begins',
  async (scenario) => {
    await scenario.publish();
    await scenario.send('one');
    await scenario.begin();
    await scenario.work();
  },
  async (scenario) => {
    expect([await scenario.statuses(), await scenario.given()]).toEqual([['completed'], ['one']]);
    expect(scenario.answers.get(signalId('one'))).toMatchObject({ kind: 'sent', signalId: 'one' });
  },
  15,
);

everywhere(
  'a signal that is sent to a wait',
  async (scenario) => {
    await scenario.publish();
    await scenario.begin();
    await scenario.work();
    await scenario.send('one');
    await scenario.work();
  },
  async (scenario) => {
    expect([await scenario.statuses(), await scenario.given()]).toEqual([['completed'], ['one']]);
  },
  15,
);

everywhere(
  'a signal that is sent while its wait begins',
  async (scenario) => {
    await scenario.publish();
    await scenario.begin();
    await Promise.all([scenario.work(), scenario.send('one')]);
  },
  async (scenario) => {
    expect([await scenario.statuses(), await scenario.given()]).toEqual([['completed'], ['one']]);
  },
  15,
);

everywhere(
  'two concurrent waits and two signals',
  async (scenario) => {
    await scenario.publish();
    await scenario.begin();
    await scenario.begin();
    await Promise.all([scenario.send('one'), scenario.work(), scenario.send('two')]);
  },
  async (scenario) => {
    expect([await scenario.statuses(), await scenario.given()]).toEqual([
      ['completed', 'completed'],
      ['one', 'two'],
    ]);
  },
  40,
);

/** The signal is not lost, in any outcome of the first run: a second run receives it, or the next one. */
const nextRun = async (scenario: Scenario): Promise<void> => {
  const before = await scenario.given();
  await scenario.publish();
  await scenario.begin();
  await scenario.work();
  if (before.includes('one')) await scenario.send('two');
  await scenario.recover();
  const isTwo = before.includes('one');
  expect(await scenario.given()).toEqual(isTwo ? ['one', 'two'] : ['one']);
  expect((await scenario.statuses()).at(-1)).toBe('completed');
};

everywhere(
  'a wait that times out while its signal arrives',
  async (scenario) => {
    await scenario.publish({ ms: 600_000 });
    await scenario.begin();
    await scenario.work();
    scenario.env.ports.clock.advance(minutes(10));
    await Promise.all([
      scenario.work(scenario.env.ports.jobs.takeDue().filter(({ kind }) => kind === 'wake')),
      scenario.send('one'),
    ]);
  },
  async (scenario) => {
    const isGiven = (await scenario.given()).includes('one');
    expect(await scenario.statuses()).toEqual([isGiven ? 'completed' : 'failed']);
    if (scenario.isAnsweredAsDelivered('one')) expect(isGiven).toBe(true);
    await nextRun(scenario);
  },
  15,
);

everywhere(
  'a cancel while the signal arrives',
  async (scenario) => {
    await scenario.publish();
    const run = await scenario.begin();
    await scenario.work();
    await Promise.all([scenario.cancel(run), scenario.send('one')]);
  },
  async (scenario) => {
    // The cancel arrives while the run waits, or after it received the signal.
    expect(await scenario.statuses()).toEqual(['cancelled']);
    if (scenario.isAnsweredAsDelivered('one')) expect(await scenario.given()).toEqual(['one']);
    await nextRun(scenario);
  },
  15,
);
