/** The platform in this process, over stores in memory. Delivers pending messages, and advances time when there are none. */
import { defined } from '../base/defined.ts';
import { type RunAddress, type Scope, environment, projectId } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type Instant, after, days, minutes } from '../engine/time.ts';
import { type MemoryPorts, memoryPorts } from '../memory/memory-ports.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from '../service/deps.ts';
import { type RunResults, byRun } from '../service/execution/collect-results.ts';
import type { Worker } from '../service/worker.ts';
import { CrashInjector, ProcessCrashed, Process } from './crash-injector.ts';
import { TestError } from './errors.ts';
import type { Stubs } from './stubs.ts';
import { type Message, type TestWorkerParams, TestWorker } from './test-worker.ts';
import { VirtualTime } from './virtual-time.ts';
import { type AnyWorkflow, testDeploymentId, manifestOf, pointerTo } from './workflow-fixture.ts';

export const scope: Scope = { projectId: projectId('default'), environment: environment('test') };

/** How long code may await something that is no step before virtual time advances, in real milliseconds. */
const nonStepTimeoutMs = 250;
/** How long a run may continue past its deadline, for its rollbacks. */
const rollbackTimeoutMs = minutes(61);
/** Sweeps of a blocked run before `run_blocked` is thrown. */
const maxChecks = 3;

/** How a run ended, or why it cannot continue. */
type RunOutcome = { readonly kind: 'ended' } | { readonly kind: 'stuck'; readonly error: Error };

interface TestEnvParams {
  readonly workflows: readonly AnyWorkflow[];
  readonly stubs: Stubs;
  readonly startAt: Instant | undefined;
  readonly seed: number;
  readonly print: TestWorkerParams['print'];
}

export class TestEnv {
  readonly ports: MemoryPorts;
  readonly crashes = new CrashInjector((run, commit, deadlineAt) => this.#recordCommit(run, commit, deadlineAt));
  readonly #params: TestEnvParams;
  readonly #deps: Deps;
  readonly #time: VirtualTime;
  readonly #workerParams: TestWorkerParams;
  readonly #runningTasks = new Set<Promise<void>>();
  readonly #activeCodeRuns = new Set<string>();
  readonly #outcomes = new Map<string, RunOutcome>();
  readonly #openRuns = new Map<string, { readonly run: RunAddress; readonly deadlineAt: Instant }>();
  #queuedMessages: readonly Message[] = [];
  /** results of child runs whose collector crashed */
  #redeliveredResults: readonly RunResults[] = [];
  #error: { readonly cause: unknown } | undefined;
  #isDeployed = false;
  /** time steps that running work still gets, so that it detects changes by other processes, such as a cancellation */
  #pendingChecks = 0;
  #lastNumber = 0;
  /** since when nothing has happened, and the activity count by then */
  #idleSince = 0;
  #seenActivity = -1;
  #lastAdvance: Promise<unknown> = Promise.resolve();

  constructor(params: TestEnvParams) {
    this.#params = params;
    this.ports = memoryPorts(defined({ seed: params.seed, startAt: params.startAt }));
    this.#time = new VirtualTime(this.ports.clock);
    this.#workerParams = {
      workflows: params.stubs.instrument(params.workflows),
      programClock: this.#time.programClock,
      print: params.print,
      deploymentId: testDeploymentId,
      onStuck: (runId, error) => this.#outcomes.set(runId, { kind: 'stuck', error }),
    };
    this.#deps = {
      ...this.ports,
      clock: this.#time.serviceClock,
      settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false },
    };
  }

  /** Calls the service, again after each crash. */
  async call<Result>(action: (worker: Worker) => Promise<Result>): Promise<Result> {
    await this.#deploy();
    for (;;) {
      const process = new Process(this.#deps, this.crashes);
      try {
        const result = await Promise.race([action(new TestWorker(process, this.#workerParams).services), process.crashed]);
        if (this.#runningTasks.size > 0) this.#pendingChecks = maxChecks;
        return result;
      } catch (error) {
        if (!(error instanceof ProcessCrashed)) throw error;
      }
    }
  }

  /** The ports for reads, which cause no crash. */
  get readDeps(): Deps {
    return this.#deps;
  }

  /** Returns the next number, for the names of runs and requests. */
  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /** Advances until the run has ended. */
  async runUntilEnded(runId: string): Promise<void> {
    for (let checks = 0; ;) {
      const canAdvance = await this.#advance(Infinity, () => this.#outcomes.has(runId));
      const outcome = this.#outcomes.get(runId);
      if (outcome?.kind === 'ended') return;
      if (outcome?.kind === 'stuck') throw outcome.error;
      if (canAdvance) checks = 0;
      else if (checks < maxChecks) {
        checks += 1;
        await this.#recheckAllRuns();
      } else
        throw new TestError(
          'run_blocked',
          `run ${runId} is blocked: it waits for something that only the test can cause, such as a signal`,
        );
    }
  }

  /** Advances through everything that happens until that time, then sets the clock to it. */
  async runUntilTime(moment: Instant): Promise<void> {
    while (await this.#advance(moment)) continue;
    if (moment > this.ports.clock.now()) this.ports.clock.set(moment);
    while (await this.#advance(moment)) continue;
  }

  /** Advances once; calls are queued. @returns whether anything can still happen before `limit` */
  #advance(limit: number, isDone: () => boolean = () => false): Promise<boolean> {
    const current = this.#lastAdvance.then(() => isDone() || this.#advanceOnce(limit, isDone));
    this.#lastAdvance = current.catch(() => {});
    return current;
  }

  async #advanceOnce(limit: number, isDone: () => boolean): Promise<boolean> {
    this.#takeMessages();
    await this.#time.waitUntilIdle();
    if (this.#error !== undefined)
      throw new TestError('unexpected', 'the test kit failed; this is an error in Stepwell', { cause: this.#error.cause });
    if (this.#hasMessages() || isDone()) return true;
    if (this.#runningTasks.size === 0) return this.#advanceTime(limit);
    if (this.#params.stubs.hasActiveCalls ? this.#pendingChecks === 0 : !this.#time.isPaused) {
      if (this.#seenActivity !== this.#time.activityCount) this.#idleSince = performance.now();
      this.#seenActivity = this.#time.activityCount;
      const isLate = performance.now() - this.#idleSince > nonStepTimeoutMs;
      // Step functions are waited for, however long they take, unless the caller has set a time limit.
      if (!isLate || (this.#params.stubs.hasActiveCalls && limit === Infinity)) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return true;
      }
    }
    this.#pendingChecks = Math.max(0, this.#pendingChecks - 1);
    return this.#advanceTime(limit);
  }

  /** Advances the clock to the next event. */
  async #advanceTime(limit: number): Promise<boolean> {
    const { jobs, timers, clock } = this.ports;
    const hasTasks = this.#runningTasks.size > 0;
    const dueTimes = [...jobs.delayed.map(({ dueAt }) => dueAt), ...timers.pending().map(({ at }) => at)];
    // Do not advance to the deadline of a run that only waits: the test gets `run_blocked` instead.
    if (dueTimes.length === 0 && !hasTasks && limit === Infinity) return false;
    const candidateTimes = [...dueTimes, ...[...this.#openRuns.values()].map(({ deadlineAt }) => deadlineAt)];
    if (!this.#time.advanceToNext(candidateTimes, hasTasks, limit)) return false;
    for (const [runId, { run, deadlineAt }] of this.#openRuns) {
      if (deadlineAt > clock.now()) continue;
      this.#openRuns.set(runId, { run, deadlineAt: after(clock.now(), rollbackTimeoutMs) });
      this.#start((worker) => worker.sweep(run));
    }
    return true;
  }

  async #recheckAllRuns(): Promise<void> {
    this.ports.clock.advance(minutes(3));
    for (const { run } of this.#openRuns.values()) this.#start((worker) => worker.sweep(run));
  }

  #takeMessages(): void {
    const { jobs, timers } = this.ports;
    const newJobs = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
    const messages = [...this.#queuedMessages, ...newJobs.map((job) => ({ job, isRedelivered: false }))];
    this.#queuedMessages = [];
    for (const message of messages) {
      const { job } = message;
      if (job.kind !== 'workflow_task') this.#deliver(message);
      // The queue delivers the messages of one run in sequence.
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
      (worker) => worker.collect(results),
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
      (worker) => worker.handle(message),
      // SQS redelivers the message of a crashed worker.
      () => (this.#queuedMessages = [...this.#queuedMessages, { ...message, isRedelivered: true }]),
      onEnd,
    );
  }

  #start(action: (worker: TestWorker) => Promise<unknown>, onCrash: () => void = () => {}, onEnd: () => void = () => {}): void {
    const process = new Process(this.#deps, this.crashes);
    const task = Promise.race([action(new TestWorker(process, this.#workerParams)), process.crashed])
      .catch((error: unknown) => {
        // A temporary failure of a store: SQS redelivers the message.
        if (error instanceof ProcessCrashed || error instanceof Unavailable) onCrash();
        else this.#error ??= { cause: error };
      })
      .then(() => {
        this.#runningTasks.delete(task);
        onEnd();
      });
    this.#runningTasks.add(task);
  }

  #recordCommit(run: RunAddress, commit: Commit, deadlineAt: Instant | undefined): void {
    const extended = commit.events.findLast((event) => event.type === 'DEADLINE_EXTENDED');
    const newDeadlineAt = extended === undefined ? deadlineAt : extended.deadlineAt;
    if (newDeadlineAt !== undefined) this.#openRuns.set(run.runId, { run, deadlineAt: newDeadlineAt });
    if (!commit.events.some(({ type }) => isEndEvent(type))) return;
    this.#outcomes.set(run.runId, { kind: 'ended' });
    this.#openRuns.delete(run.runId);
  }

  /** Deploys and activates the test's workflows. */
  async #deploy(): Promise<void> {
    if (this.#isDeployed) return;
    this.#isDeployed = true;
    const at = this.ports.clock.now();
    const { deployments } = this.ports;
    const manifest = manifestOf(this.#params.workflows);
    await deployments.create(scope, { manifest, createdAt: at, createdBy: null, verifiedAt: at });
    await deployments.movePointer(scope, 0, pointerTo(manifest, at));
  }
}

const endEventTypes: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED']);
const isEndEvent = (type: string): boolean => endEventTypes.has(type);
