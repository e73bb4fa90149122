/**
 * Crashes before and after every port call of a code run with parallel steps, a sleep, a signal wait and a child run, and of a run that
 * is cancelled and rolled back. After each crash the run ends, and each step has one completion.
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
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { codeManifest, commitsOf, deploy } from './code-test-env.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import { type ScriptStage, ScriptedPrograms, functionCommand } from './scripted-programs.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

const startAt = createTestEnv().ports.clock.now();

const stages: readonly ScriptStage[] = [
  [functionCommand('a', { hasRollback: true })],
  [functionCommand('p1'), functionCommand('p2'), { kind: 'sleep', key: 'nap', wakeAt: after(startAt, minutes(5)) }],
  [{ kind: 'workflow', key: 'sub', workflowName: 'flow', input: {} }, functionCommand('beside', { hasRollback: true })],
  [{ kind: 'signal-send', key: 'tell', signal: 'told', correlation: '1', data: 1 }],
  [{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }],
  [functionCommand('z')],
];

class Scenario {
  readonly code = new ScriptedPrograms(() => this.env.ports.clock, stages);
  readonly env: TestEnv = createTestEnv({ programs: this.code });
  readonly processes: CrashableProcesses;
  readonly #undone: Job[] = [];

  constructor(aim: CrashPoint | undefined) {
    this.processes = new CrashableProcesses(this.env.deps, aim);
  }

  worker(deps: Deps = this.processes.start()): JobHandler {
    return { ...this.env.worker, deps, foldCache: new FoldCache() };
  }

  async begin(): Promise<RunAddress> {
    await this.env.publish(workflow('flow', 'a>e'));
    await deploy(this.env, codeManifest('v1'));
    const answer = await this.env.start({ workflowName: workflowName('order') });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    return { ...scope, runId: answer.runId };
  }

  /** Each message is processed by a separate process. A crashed process leaves its message to redelivery. */
  async work(): Promise<void> {
    const { jobs, timers, clock } = this.env.ports;
    for (let round = 0; round < 60; round += 1) {
      const back = this.#undone.splice(0);
      const fresh = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
      for (const [job, isRedelivered] of [
        ...back.map((each) => [each, true] as const),
        ...fresh.map((each) => [each, false] as const),
      ]) {
        const isDone = await survives(this.env.take(job, { isRedelivered, worker: this.worker() }));
        if (!isDone) this.#undone.push(job);
      }
      if (back.length + fresh.length === 0 && this.#undone.length === 0) {
        const next = Math.min(...jobs.delayed.map(({ dueAt }) => dueAt));
        if (!Number.isFinite(next) || next > clock.now() + minutes(10)) return;
        clock.advance(minutes(1));
      }
    }
  }

  async do(act: (worker: JobHandler) => Promise<unknown>): Promise<void> {
    if (!(await survives(act(this.worker())))) await act(this.worker(this.env.deps));
  }

  /** Sweeps until no work remains. */
  async recover(): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      this.env.ports.clock.advance(minutes(3));
      await sweepRuns(this.worker(this.env.deps), after(this.env.ports.clock.now(), minutes(1)));
      await this.work();
    }
  }
}

interface Played {
  readonly calls: number;
  readonly events: readonly RunEvent[];
  readonly scenario: Scenario;
  readonly run: RunAddress;
}

async function played(aim: CrashPoint | undefined, isCancelled: boolean): Promise<Played> {
  const scenario = new Scenario(aim);
  const run = await scenario.begin();
  await scenario.work();
  await scenario.recover();
  if (isCancelled) {
    await scenario.do((worker) => cancelRun(worker, run, 'enough'));
  } else {
    const request = { name: 'paid', correlation: '1', payload: 5, bodyHash: 'h', idempotencyKey: 'pay' };
    await scenario.do((worker) => sendSignal(worker, scope, request));
  }
  await scenario.work();
  const { calls } = scenario.processes;
  await scenario.recover();
  const events = (await commitsOf(scenario.env, run)).flatMap((commit) => commit.events);
  return { calls, events, scenario, run };
}

const completions = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'NODE_COMPLETED' && !event.nodeId.startsWith('.') ? [event.nodeId] : []));

const steps = stages.flat().map(({ key }) => key);

test.each([
  ['goes well', false],
  ['is cancelled and undone', true],
])('a run that %s ends after a crash at any call', { timeout: 120_000 }, async (_name, isCancelled) => {
  const expected = isCancelled
    ? [...steps.filter((key) => key !== 'paid' && key !== 'z'), 'rollback:beside', 'rollback:a'].toSorted()
    : steps.toSorted();
  const { calls, events } = await played(undefined, isCancelled);
  expect(calls).toBeGreaterThan(60);
  expect(completions(events).toSorted()).toEqual(expected);
  for (let call = 1; call <= calls; call += 1) {
    for (const kind of ['before', 'after'] as const) {
      const where = `${kind} call ${call}`;
      const { events: committed, scenario, run } = await played({ call, kind }, isCancelled);
      expect(completions(committed).toSorted(), where).toEqual(expected);
      const { state } = await scenario.env.fold(run);
      expect(isTerminal(state.progress), where).toBe(true);
      expect(state.progress.status, where).toBe(isCancelled ? 'cancelled' : 'completed');
      expect((await scenario.env.ports.log.head(run))?.projection.status, where).toBe(state.progress.status);
      expect(await scenario.env.ports.deployments.pinnedRuns(scope, codeManifest('v1').deploymentId, 5), where).toEqual([]);
      const { signals } = await scenario.env.ports.signals.read({ ...scope, name: 'told', correlation: '1' });
      expect(signals, where).toHaveLength(1);
    }
  }
});
