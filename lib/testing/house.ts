/** The service in this process, over stores in memory: takes the messages that are there, and moves time where there are none. */
import { type RunAddress, type Scope, environment, projectId } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type Instant, after, days, minutes } from '../engine/time.ts';
import { memoryWorld, type MemoryWorld } from '../memory/memory-world.ts';
import type { Job } from '../ports/jobs.ts';
import { type Drive, type DriveEnd, type Programs } from '../ports/programs.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { beginDrive } from '../program/begin-drive.ts';
import type { Print } from '../program/program-log.ts';
import { type RunResults, byRun, collectResults } from '../service/collect-results.ts';
import type { Deps } from '../service/deps.ts';
import { driveCodeRun } from '../service/drive-code-run.ts';
import { Plans } from '../service/graph.ts';
import { recoverRun } from '../service/recover-runs.ts';
import type { Worker } from '../service/run-node.ts';
import { takeJob } from '../service/take-job.ts';
import { WarmFolds } from '../service/warm-folds.ts';
import { Crashes, Killed, Process } from './crashes.ts';
import { ReplayDivergence, TestFault } from './errors.ts';
import type { AnyWorkflow } from './given-workflow.ts';
import { deployed, manifestOf } from './manifest.ts';
import type { Stubs } from './stubs.ts';
import { VirtualTime } from './virtual-time.ts';

export const scope: Scope = { projectId: projectId('default'), environment: environment('test') };

/** As long as one invocation of the function that drives code may take. */
const longestDrive = minutes(15);
/** Real milliseconds that code is given for what is no step before time goes on without it. */
const patienceMs = 250;
/** A run that undoes what it did may take so much longer than its deadline. */
const rollbackTime = minutes(61);
/** Looks at a run that waits, before it is said that nothing comes. */
const mostLooks = 3;

/** How a run ended, or what keeps it from going on. */
type Come = { readonly kind: 'ended' } | { readonly kind: 'stuck'; readonly end: DriveEnd };

interface Given {
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

export class House {
  readonly world: MemoryWorld;
  readonly crashes = new Crashes((run, commit, deadlineAt) => this.#note(run, commit, deadlineAt));
  readonly #given: Given;
  readonly #deps: Deps;
  readonly #time: VirtualTime;
  readonly #workflows: readonly unknown[];
  readonly #tasks = new Set<Promise<void>>();
  readonly #driven = new Set<string>();
  readonly #come = new Map<string, Come>();
  readonly #open = new Map<string, { readonly run: RunAddress; readonly deadlineAt: Instant }>();
  #waiting: readonly Message[] = [];
  /** results of runs that were called, and whoever had them in hand died */
  #uncollected: readonly RunResults[] = [];
  #trouble: { readonly of: unknown } | undefined;
  #isShipped = false;
  /** moves of time that somebody at work is owed: he is to hear of what others have done */
  #looks = 0;
  #number = 0;
  /** since when nothing has moved by itself, and what had moved by then */
  #idleSince = 0;
  #seenMoves = -1;
  #last: Promise<unknown> = Promise.resolve();

  constructor(given: Given) {
    this.#given = given;
    this.world = memoryWorld({ seed: given.seed, ...(given.startAt === undefined ? {} : { startAt: given.startAt }) });
    this.#time = new VirtualTime(this.world.clock);
    this.#workflows = given.stubs.watched(given.workflows);
    this.#deps = {
      ...this.world,
      clock: this.#time.ofService,
      settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false },
    };
  }

  /** Somebody calls the service; who dies at it calls again. */
  async call<Answer>(act: (worker: Worker) => Promise<Answer>): Promise<Answer> {
    await this.#ship();
    for (;;) {
      const process = new Process(this.#deps, this.crashes);
      try {
        const answer = await Promise.race([act(workerOf(process.deps)), process.died]);
        if (this.#tasks.size > 0) this.#looks = mostLooks;
        return answer;
      } catch (trouble) {
        if (!(trouble instanceof Killed)) throw trouble;
      }
    }
  }

  /** What nobody can die at: to look. */
  get reader(): Deps {
    return this.#deps;
  }

  /** Names what the test asks for. */
  nextNumber(): number {
    this.#number += 1;
    return this.#number;
  }

  /** Until the run has ended. */
  async untilEnded(runId: string): Promise<void> {
    for (let looks = 0; ;) {
      const canGoOn = await this.#goOn(Infinity, () => this.#come.has(runId));
      const come = this.#come.get(runId);
      if (come?.kind === 'ended') return;
      if (come?.kind === 'stuck') throw stuckFault(come.end);
      if (canGoOn) looks = 0;
      else if (looks < mostLooks) {
        looks += 1;
        await this.#lookAtAll();
      } else throw new TestFault('nothing_comes', `run ${runId} waits for what does not come by itself`);
    }
  }

  /** Everything that happens until then, and then it is then. */
  async untilTime(moment: Instant): Promise<void> {
    while (await this.#goOn(moment)) continue;
    if (moment > this.world.clock.now()) this.world.clock.set(moment);
    while (await this.#goOn(moment)) continue;
  }

  /** One at a time moves the world on, until what is asked for is done. @returns whether anything can still happen before `limit` */
  #goOn(limit: number, isDone: () => boolean = () => false): Promise<boolean> {
    const mine = this.#last.then(() => isDone() || this.#step(limit, isDone));
    this.#last = mine.catch(() => {});
    return mine;
  }

  async #step(limit: number, isDone: () => boolean): Promise<boolean> {
    this.#take();
    await this.#time.quiet();
    if (this.#trouble !== undefined) throw new TestFault('unexpected', 'the kit is at fault', { cause: this.#trouble.of });
    if (this.#hasMessages() || isDone()) return true;
    if (this.#tasks.size === 0) return this.#pass(limit);
    if (this.#given.stubs.areAtWork ? this.#looks === 0 : !this.#time.isPaused) {
      if (this.#seenMoves !== this.#time.moves) this.#idleSince = performance.now();
      this.#seenMoves = this.#time.moves;
      const isLate = performance.now() - this.#idleSince > patienceMs;
      // Bodies are waited for, however long they take, unless the test itself has said how late it is to be.
      if (!isLate || (this.#given.stubs.areAtWork && limit === Infinity)) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return true;
      }
    }
    this.#looks = Math.max(0, this.#looks - 1);
    return this.#pass(limit);
  }

  /** Time goes on, to whatever comes next. */
  async #pass(limit: number): Promise<boolean> {
    const { jobs, timers, clock } = this.world;
    const hasTasks = this.#tasks.size > 0;
    const own = [...jobs.delayed.map(({ dueAt }) => dueAt), ...timers.pending().map(({ at }) => at)];
    // A run that waits for what never comes would fail at its deadline; a test hears of that before.
    if (own.length === 0 && !hasTasks && limit === Infinity) return false;
    const moments = [...own, ...[...this.#open.values()].map(({ deadlineAt }) => deadlineAt)];
    if (!this.#time.jump(moments, hasTasks, limit)) return false;
    for (const [runId, { run, deadlineAt }] of this.#open) {
      if (deadlineAt > clock.now()) continue;
      this.#open.set(runId, { run, deadlineAt: after(clock.now(), rollbackTime) });
      this.#start((worker) => recoverRun(worker, run));
    }
    return true;
  }

  async #lookAtAll(): Promise<void> {
    this.world.clock.advance(minutes(3));
    for (const { run } of this.#open.values()) this.#start((worker) => recoverRun(worker, run));
  }

  #take(): void {
    const { jobs, timers } = this.world;
    const fresh = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
    const messages = [...this.#waiting, ...fresh.map((job) => ({ job, isRedelivered: false }))];
    this.#waiting = [];
    for (const message of messages) {
      const { job } = message;
      if (job.kind !== 'drive') this.#deliver(message);
      // The queue gives the messages of one run one after the other.
      else if (this.#driven.has(job.run.runId)) this.#waiting = [...this.#waiting, message];
      else {
        this.#driven.add(job.run.runId);
        this.#deliver(message, () => this.#driven.delete(job.run.runId));
      }
    }
    const results = [...this.#uncollected, ...byRun(jobs.takeResults().map((result) => ({ result, isRedelivered: false })))];
    this.#uncollected = [];
    for (const each of results) this.#collect(each);
  }

  #collect(results: RunResults): void {
    this.#start(
      // It lingers for more to come: here they come together, or not at all.
      (worker) => collectResults({ ...worker, deps: { ...worker.deps, clock: unhurried(worker.deps) } }, results),
      () => (this.#uncollected = [...this.#uncollected, { ...results, isRedelivered: true }]),
    );
  }

  #hasMessages(): boolean {
    const { jobs, timers, clock } = this.world;
    const now = clock.now();
    return (
      this.#waiting.some(({ job }) => !this.#driven.has(job.run.runId)) ||
      jobs.sent.length + jobs.messages.length + jobs.results.length + this.#uncollected.length > 0 ||
      jobs.delayed.some(({ dueAt }) => dueAt <= now) ||
      timers.pending().some(({ at }) => at <= now)
    );
  }

  #deliver(message: Message, onEnd: () => void = () => {}): void {
    this.#start(
      (worker, process) => this.#act(worker, process, message),
      // Whoever dies leaves the message to come back.
      () => (this.#waiting = [...this.#waiting, { ...message, isRedelivered: true }]),
      onEnd,
    );
  }

  #start(
    act: (worker: Worker, process: Process) => Promise<unknown>,
    onDeath: () => void = () => {},
    onEnd: () => void = () => {},
  ): void {
    const process = new Process(this.#deps, this.crashes);
    const task = Promise.race([act(workerOf(process.deps), process), process.died])
      .catch((trouble: unknown) => {
        // What is not available now is asked for again when its message has come back.
        if (trouble instanceof Killed || trouble instanceof Unavailable) onDeath();
        else this.#trouble ??= { of: trouble };
      })
      .then(() => {
        this.#tasks.delete(task);
        onEnd();
      });
    this.#tasks.add(task);
  }

  async #act(worker: Worker, process: Process, { job, isRedelivered }: Message): Promise<void> {
    const delivery = { isRedelivered, mustEndAt: after(this.world.clock.now(), longestDrive) };
    switch (job.kind) {
      case 'drive':
        return driveCodeRun({ ...worker, programs: { begin: (...given) => this.#begin(process, ...given) } }, job, delivery);
      case 'node':
      case 'message':
        throw new Error(`only runs of code are played, and here is a message of kind ${job.kind}`);
      default:
        return takeJob(worker, job, delivery);
    }
  }

  #begin(process: Process, ...[, , task, host]: Parameters<Programs['begin']>): Drive {
    const { print } = this.#given;
    const drive = beginDrive(this.#workflows, task, host, {
      deploymentId: deployed,
      clock: this.#time.ofPrograms,
      ...(print === undefined ? {} : { print }),
    });
    process.onDeath = () => void drive.kill('the process has died');
    void drive.ended.then((end) => {
      const isStuck = end.kind === 'diverged' || end.kind === 'unloadable' || end.kind === 'unknown_workflow';
      if (isStuck) this.#come.set(task.run.runId, { kind: 'stuck', end });
    });
    return drive;
  }

  #note(run: RunAddress, commit: Commit, deadlineAt: Instant | undefined): void {
    if (deadlineAt !== undefined) this.#open.set(run.runId, { run, deadlineAt });
    if (!commit.events.some(({ type }) => isEnd(type))) return;
    this.#come.set(run.runId, { kind: 'ended' });
    this.#open.delete(run.runId);
  }

  /** What the test has given is deployed, as the active deployment. */
  async #ship(): Promise<void> {
    if (this.#isShipped) return;
    this.#isShipped = true;
    const at = this.world.clock.now();
    const { deployments } = this.world;
    await deployments.create(scope, {
      manifest: manifestOf(this.#given.workflows),
      createdAt: at,
      createdBy: null,
      verifiedAt: at,
    });
    await deployments.movePointer(scope, 0, { revision: 1, history: [{ deploymentId: deployed, at, by: null }] });
  }
}

const ends: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED']);
const isEnd = (type: string): boolean => ends.has(type);

function stuckFault(end: DriveEnd): Error {
  switch (end.kind) {
    case 'diverged':
      return new ReplayDivergence(end.message, end.details);
    case 'unknown_workflow':
      return new TestFault('workflow_unknown', end.message);
    case 'unloadable':
      return new TestFault('workflow_unusable', end.message);
    default:
      return new TestFault('unexpected', `the run is stuck: ${end.kind}`);
  }
}

const workerOf = (deps: Deps): Worker => ({
  deps,
  by: 'test',
  folds: new WarmFolds(),
  plans: new Plans({ compile: noGraphs, evaluate: noGraphs }),
  runAttempt: noGraphs,
});

const unhurried = ({ clock }: Deps): Deps['clock'] => ({ now: () => clock.now(), sleep: async () => {} });

const noGraphs = (): never => {
  throw new Error('only runs of code are played');
};
