/** The service in this process, over stores in memory: takes the messages that are there, and moves time where there are none. */
import { defined } from '../engine/defined.ts';
import { type RunAddress, type Scope, environment, projectId } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type Instant, after, days, minutes } from '../engine/time.ts';
import { memoryPorts, type MemoryPorts } from '../memory/memory-ports.ts';
import type { Job } from '../ports/jobs.ts';
import { type WorkflowTaskHandle, type WorkflowTaskEnd, type Programs } from '../ports/programs.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { startWorkflowTask } from '../program/start-workflow-task.ts';
import type { Print } from '../program/program-log.ts';
import { type RunResults, byRun, collectResults } from '../service/execution/collect-results.ts';
import type { Deps } from '../service/deps.ts';
import { runWorkflowTask } from '../service/execution/run-workflow-task.ts';
import { Plans } from '../service/commit/plans.ts';
import { sweepRun } from '../service/execution/sweep-runs.ts';
import type { Worker } from '../service/execution/run-node.ts';
import { handleJob } from '../service/execution/handle-job.ts';
import { FoldCache } from '../service/run-log/fold-cache.ts';
import { CrashInjector, ProcessCrashed, Process } from './crash-injector.ts';
import { NondeterminismError, TestError } from './errors.ts';
import type { AnyWorkflow } from './workflow-fixture.ts';
import { testDeploymentId, manifestOf } from './manifest.ts';
import type { Stubs } from './stubs.ts';
import { VirtualTime } from './virtual-time.ts';

export const scope: Scope = { projectId: projectId('default'), environment: environment('test') };

/** As long as one invocation of the function that drives code may take. */
const maxWorkflowTaskMs = minutes(15);
/** Real milliseconds that code is given for what is no step before time goes on without it. */
const nonStepTimeoutMs = 250;
/** A run that undoes what it did may take so much longer than its deadline. */
const rollbackTimeoutMs = minutes(61);
/** Looks at a run that waits, before it is said that nothing comes. */
const maxChecks = 3;

/** How a run ended, or what keeps it from going on. */
type RunOutcome = { readonly kind: 'ended' } | { readonly kind: 'stuck'; readonly end: WorkflowTaskEnd };

interface TestEnvParams {
  readonly workflows: readonly AnyWorkflow[];
  readonly stubs: Stubs;
  readonly startAt: Instant | undefined;
  readonly seed: number;
  readonly print: Print | undefined;
}

interface Message {
  readonly job: Job;
  readonly isRedelivered: boolean;
}

export class TestEnv {
  readonly ports: MemoryPorts;
  readonly crashes = new CrashInjector((run, commit, deadlineAt) => this.#recordCommit(run, commit, deadlineAt));
  readonly #params: TestEnvParams;
  readonly #deps: Deps;
  readonly #time: VirtualTime;
  readonly #workflows: readonly unknown[];
  readonly #runningTasks = new Set<Promise<void>>();
  readonly #activeCodeRuns = new Set<string>();
  readonly #outcomes = new Map<string, RunOutcome>();
  readonly #openRuns = new Map<string, { readonly run: RunAddress; readonly deadlineAt: Instant }>();
  #queuedMessages: readonly Message[] = [];
  /** results of runs that were called, and whoever had them in hand died */
  #redeliveredResults: readonly RunResults[] = [];
  #error: { readonly of: unknown } | undefined;
  #isDeployed = false;
  /** moves of time that somebody at work is owed: he is to hear of what others have done */
  #pendingChecks = 0;
  #lastNumber = 0;
  /** since when nothing has moved by itself, and what had moved by then */
  #idleSince = 0;
  #seenActivity = -1;
  #lastAdvance: Promise<unknown> = Promise.resolve();

  constructor(params: TestEnvParams) {
    this.#params = params;
    this.ports = memoryPorts(defined({ seed: params.seed, startAt: params.startAt }));
    this.#time = new VirtualTime(this.ports.clock);
    this.#workflows = params.stubs.instrument(params.workflows);
    this.#deps = {
      ...this.ports,
      clock: this.#time.serviceClock,
      settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false },
    };
  }

  /** Somebody calls the service; who dies at it calls again. */
  async call<Result>(action: (worker: Worker) => Promise<Result>): Promise<Result> {
    await this.#deploy();
    for (;;) {
      const process = new Process(this.#deps, this.crashes);
      try {
        const result = await Promise.race([action(workerOf(process.deps)), process.crashed]);
        if (this.#runningTasks.size > 0) this.#pendingChecks = maxChecks;
        return result;
      } catch (error) {
        if (!(error instanceof ProcessCrashed)) throw error;
      }
    }
  }

  /** What nobody can die at: to look. */
  get readDeps(): Deps {
    return this.#deps;
  }

  /** Names what the test asks for. */
  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /** Until the run has ended. */
  async runUntilEnded(runId: string): Promise<void> {
    for (let checks = 0; ;) {
      const canAdvance = await this.#advance(Infinity, () => this.#outcomes.has(runId));
      const outcome = this.#outcomes.get(runId);
      if (outcome?.kind === 'ended') return;
      if (outcome?.kind === 'stuck') throw stuckError(outcome.end);
      if (canAdvance) checks = 0;
      else if (checks < maxChecks) {
        checks += 1;
        await this.#recheckAllRuns();
      } else throw new TestError('run_blocked', `run ${runId} waits for what does not come by itself`);
    }
  }

  /** Everything that happens until then, and then it is then. */
  async runUntilTime(moment: Instant): Promise<void> {
    while (await this.#advance(moment)) continue;
    if (moment > this.ports.clock.now()) this.ports.clock.set(moment);
    while (await this.#advance(moment)) continue;
  }

  /** One at a time moves the world on, until what is asked for is done. @returns whether anything can still happen before `limit` */
  #advance(limit: number, isDone: () => boolean = () => false): Promise<boolean> {
    const current = this.#lastAdvance.then(() => isDone() || this.#advanceOnce(limit, isDone));
    this.#lastAdvance = current.catch(() => {});
    return current;
  }

  async #advanceOnce(limit: number, isDone: () => boolean): Promise<boolean> {
    this.#takeMessages();
    await this.#time.waitUntilIdle();
    if (this.#error !== undefined) throw new TestError('unexpected', 'the kit is at fault', { cause: this.#error.of });
    if (this.#hasMessages() || isDone()) return true;
    if (this.#runningTasks.size === 0) return this.#advanceTime(limit);
    if (this.#params.stubs.hasActiveCalls ? this.#pendingChecks === 0 : !this.#time.isPaused) {
      if (this.#seenActivity !== this.#time.activityCount) this.#idleSince = performance.now();
      this.#seenActivity = this.#time.activityCount;
      const isLate = performance.now() - this.#idleSince > nonStepTimeoutMs;
      // Bodies are waited for, however long they take, unless the test itself has said how late it is to be.
      if (!isLate || (this.#params.stubs.hasActiveCalls && limit === Infinity)) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return true;
      }
    }
    this.#pendingChecks = Math.max(0, this.#pendingChecks - 1);
    return this.#advanceTime(limit);
  }

  /** Time goes on, to whatever comes next. */
  async #advanceTime(limit: number): Promise<boolean> {
    const { jobs, timers, clock } = this.ports;
    const hasTasks = this.#runningTasks.size > 0;
    const dueTimes = [...jobs.delayed.map(({ dueAt }) => dueAt), ...timers.pending().map(({ at }) => at)];
    // A run that waits for what never comes would fail at its deadline; a test hears of that before.
    if (dueTimes.length === 0 && !hasTasks && limit === Infinity) return false;
    const candidateTimes = [...dueTimes, ...[...this.#openRuns.values()].map(({ deadlineAt }) => deadlineAt)];
    if (!this.#time.advanceToNext(candidateTimes, hasTasks, limit)) return false;
    for (const [runId, { run, deadlineAt }] of this.#openRuns) {
      if (deadlineAt > clock.now()) continue;
      this.#openRuns.set(runId, { run, deadlineAt: after(clock.now(), rollbackTimeoutMs) });
      this.#start((worker) => sweepRun(worker, run));
    }
    return true;
  }

  async #recheckAllRuns(): Promise<void> {
    this.ports.clock.advance(minutes(3));
    for (const { run } of this.#openRuns.values()) this.#start((worker) => sweepRun(worker, run));
  }

  #takeMessages(): void {
    const { jobs, timers } = this.ports;
    const newJobs = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
    const messages = [...this.#queuedMessages, ...newJobs.map((job) => ({ job, isRedelivered: false }))];
    this.#queuedMessages = [];
    for (const message of messages) {
      const { job } = message;
      if (job.kind !== 'workflow_task') this.#deliver(message);
      // The queue gives the messages of one run one after the other.
      else if (this.#activeCodeRuns.has(job.run.runId)) this.#queuedMessages = [...this.#queuedMessages, message];
      else {
        this.#activeCodeRuns.add(job.run.runId);
        this.#deliver(message, () => this.#activeCodeRuns.delete(job.run.runId));
      }
    }
    const results = [
      ...this.#redeliveredResults,
      ...byRun(jobs.takeResults().map((result) => ({ result, isRedelivered: false }))),
    ];
    this.#redeliveredResults = [];
    for (const each of results) this.#collect(each);
  }

  #collect(results: RunResults): void {
    this.#start(
      // It lingers for more to come: here they come together, or not at all.
      (worker) => collectResults({ ...worker, deps: { ...worker.deps, clock: withoutSleep(worker.deps) } }, results),
      () => (this.#redeliveredResults = [...this.#redeliveredResults, { ...results, isRedelivered: true }]),
    );
  }

  #hasMessages(): boolean {
    const { jobs, timers, clock } = this.ports;
    const now = clock.now();
    return (
      this.#queuedMessages.some(({ job }) => !this.#activeCodeRuns.has(job.run.runId)) ||
      jobs.sent.length + jobs.messages.length + jobs.results.length + this.#redeliveredResults.length > 0 ||
      jobs.delayed.some(({ dueAt }) => dueAt <= now) ||
      timers.pending().some(({ at }) => at <= now)
    );
  }

  #deliver(message: Message, onEnd: () => void = () => {}): void {
    this.#start(
      (worker, process) => this.#handle(worker, process, message),
      // Whoever dies leaves the message to come back.
      () => (this.#queuedMessages = [...this.#queuedMessages, { ...message, isRedelivered: true }]),
      onEnd,
    );
  }

  #start(
    action: (worker: Worker, process: Process) => Promise<unknown>,
    onCrash: () => void = () => {},
    onEnd: () => void = () => {},
  ): void {
    const process = new Process(this.#deps, this.crashes);
    const task = Promise.race([action(workerOf(process.deps), process), process.crashed])
      .catch((error: unknown) => {
        // What is not available now is asked for again when its message has come back.
        if (error instanceof ProcessCrashed || error instanceof Unavailable) onCrash();
        else this.#error ??= { of: error };
      })
      .then(() => {
        this.#runningTasks.delete(task);
        onEnd();
      });
    this.#runningTasks.add(task);
  }

  async #handle(worker: Worker, process: Process, { job, isRedelivered }: Message): Promise<void> {
    const delivery = { isRedelivered, mustEndAt: after(this.ports.clock.now(), maxWorkflowTaskMs) };
    switch (job.kind) {
      case 'workflow_task':
        return runWorkflowTask(
          { ...worker, programs: { start: (...params) => this.#beginWorkflowTask(process, ...params) } },
          job,
          delivery,
        );
      case 'node':
      case 'message':
        throw new Error(`only runs of code are played, and here is a message of kind ${job.kind}`);
      default:
        return handleJob(worker, job, delivery);
    }
  }

  #beginWorkflowTask(process: Process, ...[, , task, host]: Parameters<Programs['start']>): WorkflowTaskHandle {
    const { print } = this.#params;
    const workflowTask = startWorkflowTask(
      this.#workflows,
      task,
      host,
      defined({
        deploymentId: testDeploymentId,
        clock: this.#time.programClock,
        print,
      }),
    );
    process.onCrash = () => void workflowTask.kill('the process has died');
    void workflowTask.ended.then((end) => {
      const isStuck = end.kind === 'nondeterministic' || end.kind === 'unloadable' || end.kind === 'unknown_workflow';
      if (isStuck) this.#outcomes.set(task.run.runId, { kind: 'stuck', end });
    });
    return workflowTask;
  }

  #recordCommit(run: RunAddress, commit: Commit, deadlineAt: Instant | undefined): void {
    if (deadlineAt !== undefined) this.#openRuns.set(run.runId, { run, deadlineAt });
    if (!commit.events.some(({ type }) => isEndEvent(type))) return;
    this.#outcomes.set(run.runId, { kind: 'ended' });
    this.#openRuns.delete(run.runId);
  }

  /** What the test has given is deployed, as the active deployment. */
  async #deploy(): Promise<void> {
    if (this.#isDeployed) return;
    this.#isDeployed = true;
    const at = this.ports.clock.now();
    const { deployments } = this.ports;
    await deployments.create(scope, {
      manifest: manifestOf(this.#params.workflows),
      createdAt: at,
      createdBy: null,
      verifiedAt: at,
    });
    await deployments.movePointer(scope, 0, { revision: 1, history: [{ deploymentId: testDeploymentId, at, by: null }] });
  }
}

const endEventTypes: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED']);
const isEndEvent = (type: string): boolean => endEventTypes.has(type);

function stuckError(end: WorkflowTaskEnd): Error {
  switch (end.kind) {
    case 'nondeterministic':
      return new NondeterminismError(end.message, end.details);
    case 'unknown_workflow':
      return new TestError('workflow_unknown', end.message);
    case 'unloadable':
      return new TestError('workflow_invalid', end.message);
    default:
      return new TestError('unexpected', `the run is stuck: ${end.kind}`);
  }
}

const workerOf = (deps: Deps): Worker => ({
  deps,
  by: 'test',
  foldCache: new FoldCache(),
  plans: new Plans({ compile: rejectGraphs, evaluate: rejectGraphs }),
  runAttempt: rejectGraphs,
});

const withoutSleep = ({ clock }: Deps): Deps['clock'] => ({ now: () => clock.now(), sleep: async () => {} });

const rejectGraphs = (): never => {
  throw new Error('only runs of code are played');
};
