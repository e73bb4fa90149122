/**
 * Scripted workflow code for tests: stages of commands that are scheduled and awaited together, with the test's step functions. Like
 * replayed code, it derives its whole state from the history, and it commits one command batch after the other.
 */
import { type Attempt, attempt as attemptNo, firstAttempt } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { Failure } from '../../lib/engine/log/events.ts';
import { type DurationMs, type Instant, after, durationMs } from '../../lib/engine/time.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type {
  Command,
  History,
  StepResult,
  CommandBatch,
  CommandBatchResult,
  CommandBatchEntry,
} from '../../lib/engine/durable/command-batch.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask, Programs } from '../../lib/ports/programs.ts';

export type ScriptStage = readonly Command[];

/** Returns a value, or throws a failure. */
export type StepFunction = (key: string, attempt: Attempt, signal: AbortSignal) => JsonValue | Promise<JsonValue>;

/** Thrown by a step function to request a retry after this time. */
export class RetryAfter extends Error {
  readonly afterMs: DurationMs;
  constructor(afterMs: DurationMs) {
    super('later');
    this.afterMs = afterMs;
  }
}

/** Thrown by a step function to crash its thread. */
export class WorkflowTaskCrash extends Error {
  readonly end: 'crashed' | 'timed_out' = 'crashed';
}

export const functionCommand = (key: string, more: Partial<Extract<Command, { kind: 'function' }>> = {}): Command => ({
  kind: 'function',
  key,
  ...more,
});

interface FinishedStep {
  readonly key: string;
  readonly attempt: Attempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly result: { readonly output: JsonValue } | { readonly failure: Failure } | { readonly again: DurationMs };
}

/** Record of one workflow task, for assertions. */
export interface RecordedTask {
  readonly task: WorkflowTask;
  readonly cancelled: string[];
  /** number of early hand-off requests */
  handoffRequests: number;
  /** number of histories received because of commits of other writers */
  overtakenCount: number;
  /** number of command batches answered with `overtaken` */
  refusedBatches: number;
  readonly batches: CommandBatch[];
  end?: WorkflowTaskEnd;
}

export class ScriptedPrograms implements Programs {
  readonly tasks: RecordedTask[] = [];
  /** the started step functions: `key#attempt` */
  readonly startedSteps: string[] = [];
  readonly #clock: () => Clock;
  readonly #stages: readonly ScriptStage[];
  readonly #stepFunction: StepFunction;
  /** if set, each workflow task ends at once with this */
  immediateEnd: WorkflowTaskEnd | undefined;

  constructor(clock: () => Clock, stages: readonly ScriptStage[], stepFunction: StepFunction = (key) => `${key} done`) {
    this.#clock = clock;
    this.#stages = stages;
    this.#stepFunction = stepFunction;
  }

  start(_scope: unknown, _manifest: unknown, task: WorkflowTask, host: WorkflowTaskHost): WorkflowTaskHandle {
    const recorded: RecordedTask = { task, cancelled: [], handoffRequests: 0, overtakenCount: 0, refusedBatches: 0, batches: [] };
    this.tasks.push(recorded);
    const stepFunction: StepFunction = (key, attempt, signal) => {
      this.startedSteps.push(`${key}#${attempt}`);
      return this.#stepFunction(key, attempt, signal);
    };
    if (this.immediateEnd !== undefined) return ended((recorded.end = this.immediateEnd));
    return new StagedTask({ clock: this.#clock(), stages: this.#stages, stepFunction, task, host, recorded });
  }
}

const ended = (end: WorkflowTaskEnd): WorkflowTaskHandle => ({
  ended: Promise.resolve(end),
  replaceHistory: () => {},
  cancel: () => {},
  handOff: () => {},
  kill: async () => {},
});

interface TaskOptions {
  readonly clock: Clock;
  readonly stages: readonly ScriptStage[];
  readonly stepFunction: StepFunction;
  readonly task: WorkflowTask;
  readonly host: WorkflowTaskHost;
  readonly recorded: RecordedTask;
}

class StagedTask implements WorkflowTaskHandle {
  readonly ended: Promise<WorkflowTaskEnd>;
  readonly #options: TaskOptions;
  readonly #abort = new AbortController();
  readonly #runningSteps = new Map<string, Attempt>();
  readonly #finishedSteps: FinishedStep[] = [];
  #history: History<JsonValue>;
  #isRollingBack = false;
  #wake: () => void = () => {};
  #settle: (end: WorkflowTaskEnd) => void = () => {};
  #hasEnded = false;

  constructor(options: TaskOptions) {
    this.#options = options;
    this.#history = options.task.history;
    this.#isRollingBack = options.task.history.runOutcome !== undefined;
    const { promise, resolve } = Promise.withResolvers<WorkflowTaskEnd>();
    this.ended = promise;
    this.#settle = (end) => {
      this.#hasEnded = true;
      options.recorded.end ??= end;
      resolve(end);
      this.#wake();
    };
    void this.#run();
  }

  replaceHistory(history: History<JsonValue>): void {
    this.#options.recorded.overtakenCount += 1;
    this.#useHistory(history);
    this.#wake();
  }

  cancel(reason: string): void {
    this.#options.recorded.cancelled.push(reason);
    this.#abort.abort(reason);
    this.#wake();
  }

  handOff(): void {
    this.#options.recorded.handoffRequests += 1;
  }

  async kill(message: string): Promise<void> {
    this.#settle({ kind: 'timed_out', message, running: this.#running() });
  }

  #running() {
    return [...this.#runningSteps].map(([key, attempt]) => ({ key, attempt }));
  }

  #useHistory(history: History<JsonValue>): void {
    this.#history = history;
    // A part of the batch may be committed. Drop the results of steps that are no longer open.
    const wanted = new Map(history.open.map(({ key, attempt }) => [key, attempt]));
    this.#finishedSteps.splice(
      0,
      this.#finishedSteps.length,
      ...this.#finishedSteps.filter(({ key, attempt }) => wanted.get(key) === attempt),
    );
    for (const [key, attempt] of this.#runningSteps) if (wanted.get(key) !== attempt) this.#runningSteps.delete(key);
    if (history.runOutcome !== undefined && !this.#isRollingBack) this.#startRollback();
  }

  /** The results of running step functions are no longer needed. */
  #startRollback(): void {
    this.#isRollingBack = true;
    this.#runningSteps.clear();
    this.#finishedSteps.length = 0;
  }

  async #run(): Promise<void> {
    const { recorded, host } = this.#options;
    while (!this.#hasEnded) {
      const batch = this.#next();
      if (batch !== undefined) {
        recorded.batches.push(batch);
        const answer = await host.commitBatch({ ...batch, historiesReceived: recorded.overtakenCount });
        if (this.#hasEnded) return;
        if (this.#applyResult(batch, answer)) return this.#settle({ kind: 'finished' });
        continue;
      }
      if (this.#abort.signal.aborted && !this.#isRollingBack) return this.#settle({ kind: 'finished' });
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The next command batch, if there is one. */
  #next(): CommandBatch | undefined {
    const { clock } = this.#options;
    const entries: CommandBatchEntry[] = [];
    const summary = summaryOf(this.#history);
    for (const { key, attempt, retryAt } of this.#history.open) {
      if (this.#runningSteps.has(key) || this.#finishedSteps.some((done) => done.key === key)) continue;
      const now = clock.now();
      if (retryAt !== undefined) {
        if (retryAt <= now) this.#begin(key, attempt);
        continue;
      }
      const failure: Failure = { cause: 'lost', message: 'the outcome of the step is unknown' };
      entries.push({
        kind: 'retried',
        key,
        attempt,
        failure,
        delayMs: durationMs(0),
        retryAt: now,
        startedAt: now,
        endedAt: now,
      });
    }
    let failed: Failure | undefined;
    for (const done of this.#finishedSteps) {
      const entry = entryOf(done);
      entries.push(entry);
      if (entry.kind === 'failed') failed ??= entry.failure;
      if (entry.kind === 'completed') summary.settled.set(done.key, true);
    }
    for (const [, ok] of summary.settled) if (!ok) failed ??= { cause: 'error', message: 'a step failed' };
    const stages = this.#isRollingBack ? this.#rollbackStages() : this.#options.stages;
    const stage = stages.find((each) => !each.every(({ key }) => summary.settled.get(key) === true));
    if (stage === undefined) {
      entries.push(
        this.#isRollingBack ? { kind: 'rolled-back', failures: [] } : { kind: 'returned', output: [...summary.settled.keys()] },
      );
      return { entries, next: 'suspended' };
    }
    if (failed !== undefined && !this.#isRollingBack)
      return { entries: [...entries, { kind: 'threw', failure: failed }], next: 'suspended' };
    for (const command of stage) if (!summary.scheduled.has(command.key)) entries.push({ kind: 'scheduled', command });
    const waits = this.#history.open.flatMap(({ key, retryAt }) =>
      retryAt !== undefined && !this.#runningSteps.has(key) ? [retryAt] : [],
    );
    const again = entries.flatMap((entry) => (entry.kind === 'retried' ? [entry.retryAt] : []));
    const begins =
      entries.some((entry) => entry.kind === 'scheduled' && hasStepFunction(entry.command)) ||
      again.some((at) => at <= clock.now());
    const left = [...this.#runningSteps.keys()].filter((key) => !this.#finishedSteps.some((done) => done.key === key));
    const hasRunningStep = begins || left.length > 0;
    if (entries.length === 0 && hasRunningStep) return undefined;
    const wakeAt = Math.min(...waits, ...again);
    if (hasRunningStep) return { entries, next: 'running' };
    return { entries, next: 'suspended', ...(Number.isFinite(wakeAt) ? { wakeAt: wakeAt as Instant } : {}) };
  }

  /** Steps are rolled back in reverse order of their completion. */
  #rollbackStages(): readonly ScriptStage[] {
    const { scheduled, settled } = summaryOf(this.#history);
    const withRollback = this.#options.stages
      .flat()
      .filter((command) => command.kind === 'function' && command.hasRollback === true && settled.get(command.key) === true);
    const inOrder = [...scheduled].flatMap((key) => withRollback.filter((command) => command.key === key)).toReversed();
    return inOrder.map(({ key }) => [{ kind: 'rollback', key: `rollback:${key}` }]);
  }

  /** @returns whether the workflow task has ended */
  #applyResult(batch: CommandBatch, answer: CommandBatchResult): boolean {
    const { recorded } = this.#options;
    if (answer.kind === 'stop') return true;
    if (answer.kind === 'overtaken') {
      recorded.refusedBatches += 1;
      this.#useHistory(answer.history);
      return false;
    }
    if (answer.run === 'ended') return true;
    const entries = [...this.#history.entries];
    let open = [...this.#history.open];
    for (const entry of batch.entries) {
      if (entry.kind === 'scheduled') {
        entries.push({ kind: 'scheduled', key: entry.command.key, step: entry.command.kind });
        if (hasStepFunction(entry.command)) {
          open.push({ key: entry.command.key, attempt: firstAttempt, dispatchCommit: answer.commit, lostAttempts: 0 });
          this.#begin(entry.command.key, firstAttempt);
        }
      } else if (entry.kind === 'completed' || entry.kind === 'failed') {
        this.#forget(entry.key);
        open = open.filter(({ key }) => key !== entry.key);
        const { endedAt } = entry;
        const result: StepResult<JsonValue> =
          entry.kind === 'completed'
            ? { status: 'completed', output: entry.output, endedAt }
            : { status: 'failed', failure: entry.failure, endedAt };
        entries.push({ kind: 'settled', key: entry.key, result });
      } else if (entry.kind === 'retried') {
        this.#forget(entry.key);
        const next = attemptNo(entry.attempt + 1);
        open = open.map((each) => (each.key === entry.key ? { ...each, attempt: next, retryAt: entry.retryAt } : each));
      }
    }
    this.#history = { ...this.#history, entries, open };
    if (answer.run === 'rolling_back' && !this.#isRollingBack) {
      this.#startRollback();
      this.#history = { ...this.#history, open: [] };
      return false;
    }
    return batch.next !== 'running';
  }

  #forget(key: string): void {
    this.#runningSteps.delete(key);
    this.#finishedSteps.splice(0, this.#finishedSteps.length, ...this.#finishedSteps.filter((done) => done.key !== key));
  }

  #begin(key: string, attempt: Attempt): void {
    const { clock, stepFunction, host, stages } = this.#options;
    const startedAt = clock.now();
    this.#runningSteps.set(key, attempt);
    const end = (result: FinishedStep['result']): void => {
      if (this.#hasEnded || this.#runningSteps.get(key) !== attempt) return;
      this.#finishedSteps.push({ key, attempt, startedAt, endedAt: clock.now(), result });
      this.#wake();
    };
    const command = stages.flat().find((each) => each.key === key);
    const sending = command?.kind === 'signal-send' ? command : undefined;
    const work = async (): Promise<FinishedStep['result']> => {
      if (sending === undefined) return { output: await stepFunction(key, attempt, this.#abort.signal) };
      const sent = await host.perform(sending);
      return sent.status === 'completed' ? { output: sent.output } : { failure: sent.failure };
    };
    void work().then(end, (error: unknown) => {
      if (error instanceof WorkflowTaskCrash)
        return this.#settle({ kind: error.end, message: error.message, running: this.#running() });
      if (error instanceof RetryAfter) return end({ again: error.afterMs });
      end({ failure: { cause: 'error', message: String(error) } });
    });
  }
}

const hasStepFunction = ({ kind }: Command): boolean => kind === 'function' || kind === 'rollback' || kind === 'signal-send';

function entryOf({ result, ...of }: FinishedStep): Extract<CommandBatchEntry, { kind: 'completed' | 'failed' | 'retried' }> {
  if ('output' in result) return { kind: 'completed', ...of, output: result.output };
  if ('failure' in result) return { kind: 'failed', ...of, failure: result.failure };
  const failure: Failure = { cause: 'error', message: 'later' };
  return { kind: 'retried', ...of, failure, delayMs: result.again, retryAt: after(of.endedAt, result.again) };
}

const summaryOf = ({ entries, priorResults }: History<JsonValue>) => ({
  scheduled: new Set(entries.flatMap((entry) => (entry.kind === 'scheduled' ? [entry.key] : []))),
  settled: new Map<string, boolean>([
    ...priorResults.map(({ key }) => [key, true] as const),
    ...entries.flatMap((entry) => (entry.kind === 'settled' ? [[entry.key, entry.result.status === 'completed'] as const] : [])),
  ]),
});
