/**
 * A crash before and after every port call of a run of code with steps in parallel, a sleep, a wait for a signal and a call of
 * another run, and of one that is cancelled and undone. Whoever died, the run comes to its end, and each step to one.
 */
import { expect, test } from 'vitest';
import { type RunAddress, workflowName } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import type { Worker } from '../../lib/service/execution/run-node.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { codeManifest, commitsOf, deploy } from './code-test-env.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import { type ScriptStage, ScriptedPrograms, functionCommand } from './scripted-programs.ts';

const startAt = createTestEnv().ports.clock.now();

const stages: readonly ScriptStage[] = [
  [functionCommand('a', { hasRollback: true })],
  [functionCommand('p1'), functionCommand('p2'), { kind: 'sleep', key: 'nap', wakeAt: after(startAt, minutes(5)) }],
  [{ kind: 'workflow', key: 'sub', workflowName: 'flow', input: {} }, functionCommand('beside', { hasRollback: true })],
  [{ kind: 'signal-send', key: 'tell', signal: 'told', correlation: '1', data: 1 }],
  [{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }],
  [functionCommand('z')],
];

class Scene {
  readonly code = new ScriptedPrograms(() => this.home.ports.clock, stages);
  readonly home: TestEnv = createTestEnv({ programs: this.code });
  readonly processes: CrashableProcesses;
  readonly #undone: Job[] = [];

  constructor(aim: CrashPoint | undefined) {
    this.processes = new CrashableProcesses(this.home.deps, aim);
  }

  worker(deps: Deps = this.processes.start()): Worker {
    return { ...this.home.worker, deps, foldCache: new FoldCache() };
  }

  async begin(): Promise<RunAddress> {
    await this.home.publish(workflow('flow', 'a>e'));
    await deploy(this.home, codeManifest('v1'));
    const answer = await this.home.start({ workflowName: workflowName('order') });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    return { ...scope, runId: answer.runId };
  }

  /** Everything that is there is taken by processes of their own; whoever died leaves the message to come back. */
  async work(): Promise<void> {
    const { jobs, timers, clock } = this.home.ports;
    for (let round = 0; round < 60; round += 1) {
      const back = this.#undone.splice(0);
      const fresh = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
      for (const [job, isRedelivered] of [
        ...back.map((each) => [each, true] as const),
        ...fresh.map((each) => [each, false] as const),
      ]) {
        const isDone = await survives(this.home.take(job, { isRedelivered, worker: this.worker() }));
        if (!isDone) this.#undone.push(job);
      }
      if (back.length + fresh.length === 0 && this.#undone.length === 0) {
        const next = Math.min(...jobs.delayed.map(({ dueAt }) => dueAt));
        if (!Number.isFinite(next) || next > clock.now() + minutes(10)) return;
        clock.advance(minutes(1));
      }
    }
  }

  async do(act: (worker: Worker) => Promise<unknown>): Promise<void> {
    if (!(await survives(act(this.worker())))) await act(this.worker(this.home.deps));
  }

  /** The sweep goes by, until nothing is left to be done. */
  async heal(): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      this.home.ports.clock.advance(minutes(3));
      await sweepRuns(this.worker(this.home.deps), after(this.home.ports.clock.now(), minutes(1)));
      await this.work();
    }
  }
}

interface Played {
  readonly calls: number;
  readonly events: readonly RunEvent[];
  readonly scene: Scene;
  readonly run: RunAddress;
}

async function played(aim: CrashPoint | undefined, isCancelled: boolean): Promise<Played> {
  const scene = new Scene(aim);
  const run = await scene.begin();
  await scene.work();
  await scene.heal();
  if (isCancelled) {
    await scene.do((worker) => cancelRun(worker, run, 'enough'));
  } else {
    const request = { name: 'paid', correlation: '1', payload: 5, bodyHash: 'h', idempotencyKey: 'pay' };
    await scene.do((worker) => sendSignal(worker, scope, request));
  }
  await scene.work();
  const { calls } = scene.processes;
  await scene.heal();
  const events = (await commitsOf(scene.home, run)).flatMap((commit) => commit.events);
  return { calls, events, scene, run };
}

const completions = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'NODE_COMPLETED' && !event.nodeId.startsWith('.') ? [event.nodeId] : []));

const steps = stages.flat().map(({ key }) => key);

test.each([
  ['goes well', false],
  ['is cancelled and undone', true],
])('a run that %s is carried to its end, whoever dies at whichever call', { timeout: 120_000 }, async (_name, isCancelled) => {
  const expected = isCancelled
    ? [...steps.filter((key) => key !== 'paid' && key !== 'z'), 'rollback:beside', 'rollback:a'].toSorted()
    : steps.toSorted();
  const { calls, events } = await played(undefined, isCancelled);
  expect(calls).toBeGreaterThan(60);
  expect(completions(events).toSorted()).toEqual(expected);
  for (let call = 1; call <= calls; call += 1) {
    for (const kind of ['before', 'after'] as const) {
      const where = `${kind} call ${call}`;
      const { events: told, scene, run } = await played({ call, kind }, isCancelled);
      expect(completions(told).toSorted(), where).toEqual(expected);
      const { state } = await scene.home.fold(run);
      expect(isTerminal(state.progress), where).toBe(true);
      expect(state.progress.status, where).toBe(isCancelled ? 'cancelled' : 'completed');
      expect((await scene.home.ports.log.head(run))?.projection.status, where).toBe(state.progress.status);
      expect(await scene.home.ports.deployments.pinnedRuns(scope, codeManifest('v1').deploymentId, 5), where).toEqual([]);
      const { signals } = await scene.home.ports.signals.read({ ...scope, name: 'told', correlation: '1' });
      expect(signals, where).toHaveLength(1);
    }
  }
});
