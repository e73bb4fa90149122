/**
 * One run of one fixed workflow, with its external requests as a script. A client without a response repeats its request.
 * Before the first crash, the sweep runs between events and makes no port calls of its own; from then on it is a process like
 * all others.
 */
import {
  type NodeId,
  type RunAddress,
  type Scope,
  environment,
  nodeId,
  nodeKey,
  projectId,
  signalId,
  topLevel,
} from '../../lib/engine/ids.ts';
import { workflowName } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { minuteOf } from '../../lib/engine/log/heartbeat-timeout.ts';
import { type DurationMs, after, days, minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Decider } from '../../lib/service/decider.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { sendSignal, sendToRun } from '../../lib/service/runs/send-signal.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import type { RunActions } from '../conformance/run-actions.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { simulatedTypes } from './random-graph.ts';
import { runInvariant } from './violation.ts';
import type { FunctionOverrides } from './functions.ts';
import type { Workload, WorkloadParts } from './workload.ts';

export const scriptedScope: Scope = { projectId: projectId('default'), environment: environment('simulated') };

export interface Script {
  readonly workflow: string;
  readonly input: JsonValue;
  readonly types?: FunctionOverrides['types'];
  /** writes the workflows into the stores before any other process uses them */
  readonly publish: (deps: Deps, parts: WorkloadParts) => Promise<void>;
  /** absent: the run is started without further requests */
  readonly outside?: (outside: RunActions) => Promise<void>;
}

/** Stored responses, by request and count. */
export type RecordedAnswers = Map<string, unknown>;

/** Longer than any call and shorter than any wait that would change the result. */
const patienceMs = 10_000;
/** A script that settles waits for events that are due within this time. */
const settledMs = 300;

export class ScriptedWorkload implements Workload {
  woken = 0;
  sent = 0;
  run: RunAddress | undefined;
  /** messages were lost, delayed or redelivered, which explains any repetition */
  isRough = false;
  /** the responses in this run */
  readonly answers: RecordedAnswers = new Map();
  readonly #script: Script;
  readonly #parts: WorkloadParts;
  readonly #told: RecordedAnswers;
  readonly #deps: Deps;
  readonly #ahead: { readonly dueAt: number; readonly job: Job }[] = [];
  readonly #asked = new Map<string, number>();
  #isOver = false;
  #isStruck = false;
  #sweepsItself = false;

  /** @param told the responses of a run without a crash, which the script gets instead of the actual ones */
  constructor(script: Script, parts: WorkloadParts, told: RecordedAnswers) {
    this.#script = script;
    this.#parts = parts;
    this.#told = told;
    const { functions, around } = parts;
    const { world } = functions;
    if (world === undefined) throw new Error('the simulation is not set up yet');
    this.#deps = world;
    functions.world = this.#noting(world);
    around.faults.onCrashPoint = () => (this.#isStruck = true);
  }

  /** Faults may happen from the first event on. */
  enableChaos(): void {
    this.isRough = true;
    this.#isStruck = true;
  }

  get waiting(): number {
    return this.run === undefined ? 1 : 0;
  }

  get isQuiet(): boolean {
    return this.#isOver && this.#parts.checker.isQuiet;
  }

  mayBeCancelled(): boolean {
    return true;
  }

  async begin(): Promise<void> {
    const { time } = this.#parts.around;
    await this.#script.publish(this.#deps, this.#parts);
    await this.#deps.index.recordSweptMinute(minuteOf(time.now) - 1);
    time.in(60_000, () => this.#lookAfterRuns());
    const { outside = async ({ start }) => start() } = this.#script;
    time.in(1, () => {
      outside(this.outside).then(
        () => (this.#isOver = true),
        (thrown: unknown) => this.#parts.functions.problems.push(thrown),
      );
    });
  }

  readonly outside: RunActions = {
    start: () => this.#start(),
    settle: () => this.#until(() => this.#parts.around.time.nextAt - this.#parts.around.time.now > settledMs),
    advanceTime: (wait) => this.#pass(wait, false),
    advanceIdle: (wait) => this.#pass(wait, true),
    finish: () => this.#until(() => this.run !== undefined && this.#parts.checker.isQuiet),
    loseMessages: async () => {
      this.#sweepsItself = true;
      this.isRough = true;
      this.#ahead.length = 0;
      this.#parts.world.lose();
    },
    deliverTimersEarly: () => this.#hurry(),
    sweep: () => {
      this.#sweepsItself = true;
      return this.#ask('sweep', (decider) => sweepRuns(decider, after(this.#parts.around.time.now, minutes(1))));
    },
    send: (name, payload, how) => this.#send(name, payload, how),
    cancel: (reason) => this.#ask('cancel', (decider) => cancelRun(decider, this.#started(), reason)),
    cancelCalled: async (node, reason) => {
      const called = await this.#called(node);
      return this.#ask('cancel', (decider) => cancelRun(decider, called, reason));
    },
    wake: (...named) =>
      this.#ask('wake', async (decider): Promise<readonly NodeId[]> => {
        const answer = await wakeRun(decider, this.#started(), named.length === 0 ? {} : { nodeIds: named.map(nodeId) });
        return answer.kind === 'woken' ? answer.nodeIds : [];
      }),
    resume: (reason) => this.#ask('resume', async (decider) => void (await resumeRun(decider, this.#started(), { reason }))),
  };

  #start(): Promise<void> {
    const { checker } = this.#parts;
    return this.#ask('start', async (decider) => {
      const answer = await startRun(decider, {
        scope: scriptedScope,
        idempotencyKey: 'once',
        bodyHash: 'once',
        workflowName: workflowName(this.#script.workflow),
        input: this.#script.input,
      });
      runInvariant(9, answer.kind === 'started', `the start was answered ${answer.kind}`);
      runInvariant(9, (this.run?.runId ?? answer.runId) === answer.runId, 'the start made two runs');
      this.run = { ...scriptedScope, runId: answer.runId };
      checker.acknowledge(this.run);
    });
  }

  #send: RunActions['send'] = (name, payload, { correlation, expiresIn = days(1) } = {}) => {
    this.sent += 1;
    const id = signalId(`signal-${this.sent}`);
    const { around, signals } = this.#parts;
    const request = { name, payload, bodyHash: name, signalId: id, expiresIn };
    const bufferedUntil = after(around.time.now, expiresIn);
    return this.#ask('send', async (decider) => {
      const run = this.#started();
      signals.sent({ name, correlation: correlation ?? run.runId, scope: scriptedScope, signalId: id, payload });
      const answer =
        correlation === undefined
          ? await sendToRun(decider, run, request)
          : await sendSignal(decider, scriptedScope, { ...request, correlation });
      // An ended run gets no further requests.
      if (answer.kind !== 'sent') return { isDelivered: false };
      const place = { name, correlation: correlation ?? run.runId };
      signals.acknowledged({ ...place, scope: scriptedScope, signalId: id, bufferedUntil }, answer.isDelivered, around.time.now);
      return { isDelivered: answer.isDelivered };
    });
  };

  /** Sends the request in its own process, and repeats it in another one if that gives no response. */
  async #ask<Answer>(what: string, work: (decider: Decider) => Promise<Answer>): Promise<Answer> {
    const { functions, around } = this.#parts;
    // A run can progress before its client has the response to the start.
    if (what !== 'start' && this.run === undefined) await this.#until(() => this.run !== undefined);
    const number = (this.#asked.get(what) ?? 0) + 1;
    this.#asked.set(what, number);
    const name = `${what} ${number}`;
    return new Promise((resolve) => {
      let isAnswered = false;
      const attempt = (): void => {
        functions.invoke('api', async (decider) => {
          const answer = await work(decider);
          if (isAnswered) return;
          isAnswered = true;
          this.answers.set(name, answer);
          // An earlier response belongs to the same request.
          resolve(this.#told.has(name) ? (this.#told.get(name) as Answer) : answer);
        });
        around.time.in(patienceMs, () => (isAnswered ? undefined : attempt()));
      };
      attempt();
    });
  }

  async #pass(wait: DurationMs, isIdle: boolean): Promise<void> {
    const { world, around } = this.#parts;
    world.hold(isIdle);
    if (isIdle) this.isRough = true;
    await new Promise<void>((resolve) => around.time.in(wait, resolve));
  }

  async #until(isSo: () => boolean): Promise<void> {
    const { world, around } = this.#parts;
    world.hold(false);
    // By then, sent messages are in flight.
    await new Promise<void>((resolve) => around.time.in(1, resolve));
    while (!isSo()) {
      const next = Math.max(1, Math.min(around.time.nextAt - around.time.now, 3_600_000));
      await new Promise<void>((resolve) => around.time.in(next, resolve));
    }
  }

  async #hurry(): Promise<void> {
    this.isRough = true;
    const { time } = this.#parts.around;
    const jobs = this.#ahead.splice(0).filter(({ dueAt }) => dueAt > time.now);
    for (const { job } of jobs) this.#parts.functions.jobs([{ body: job, isRedelivered: false, receives: 1 }], () => {});
    await this.outside.settle();
    // The timers fire again at their due time.
    this.#ahead.push(...jobs);
  }

  async #called(node: string): Promise<RunAddress> {
    const { checker } = this.#parts;
    const place = nodeKey({ nodeId: nodeId(node), iteration: topLevel });
    const calledNow = () => {
      const state = checker.stateOf(this.#started().runId)?.nodes.get(place);
      return state !== undefined && 'childRunId' in state ? state.childRunId : undefined;
    };
    const isMade = () => checker.stateOf(calledNow() ?? '') !== undefined;
    await this.#until(() => isMade() || checker.endOf(this.#started().runId) !== undefined);
    const runId = calledNow();
    return runId === undefined ? this.#started() : { ...scriptedScope, runId };
  }

  #started(): RunAddress {
    if (this.run === undefined) throw new Error('the run is not started');
    return this.run;
  }

  #lookAfterRuns(): void {
    const { around, world, functions } = this.#parts;
    const isDue = [...world.dueMinutes].some((minute) => minute < minuteOf(around.time.now));
    // A sweep without a due run changes nothing and is left out.
    if (isDue && this.#isStruck) void this.#passEmptyMinutes().then(() => functions.sweep());
    else if (isDue && !this.#sweepsItself) void this.#lookCalmly();
    if (!this.isQuiet || world.dueMinutes.size > 0) around.time.in(60_000, () => this.#lookAfterRuns());
  }

  async #passEmptyMinutes(): Promise<void> {
    const { dueMinutes, sweptMinute } = this.#parts.world;
    const before = Math.min(...dueMinutes) - 1;
    if (before > sweptMinute) await this.#deps.index.recordSweptMinute(before);
  }

  async #lookCalmly(): Promise<void> {
    const { time } = this.#parts.around;
    const { types = simulatedTypes } = this.#script;
    const clock: Deps['clock'] = { now: () => time.now, sleep: async () => {} };
    await this.#passEmptyMinutes();
    const decider = {
      deps: { ...this.#deps, clock },
      plans: new Plans(types),
      kinds: runKinds,
      foldCache: new FoldCache(),
      by: 'sweep',
    };
    const { failed } = await sweepRuns(decider, after(time.now, minutes(1)));
    for (const { error } of failed) this.#parts.functions.recordError(error);
  }

  #noting(world: Deps): Deps {
    return {
      ...world,
      jobs: overrideMethods(world.jobs, {
        sendDelayed: async (job, delay) => {
          this.#ahead.push({ job, dueAt: this.#parts.around.time.now + delay });
          await world.jobs.sendDelayed(job, delay);
        },
      }),
      timers: overrideMethods(world.timers, {
        set: async (timer) => {
          this.#ahead.push({ job: timer.job, dueAt: timer.at });
          await world.timers.set(timer);
        },
      }),
    };
  }
}
