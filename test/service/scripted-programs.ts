/**
 * Code as a test plays it: stages of commands, each asked for together and awaited together, and bodies of the test's own. It
 * takes its whole state from the history that it is given, as replayed code does, and it says one turn after the other.
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

/** What a body comes to: a value, or by throwing a failure. */
export type StepFunction = (key: string, attempt: Attempt, signal: AbortSignal) => JsonValue | Promise<JsonValue>;

/** Thrown by a body: it is to be tried again after this. */
export class RetryAfter extends Error {
  readonly afterMs: DurationMs;
  constructor(afterMs: DurationMs) {
    super('later');
    this.afterMs = afterMs;
  }
}

/** Thrown by a body: the code breaks its thread. */
export class WorkflowTaskCrash extends Error {
  readonly end: 'crashed' | 'timed_out' = 'crashed';
}

export const functionCommand = (key: string, more: Partial<Extract<Command, { kind: 'function' }>> = {}): Command => ({
  kind: 'function',
  key,
  ...more,
});

interface Done {
  readonly key: string;
  readonly attempt: Attempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly result: { readonly output: JsonValue } | { readonly failure: Failure } | { readonly again: DurationMs };
}

/** What became of one drive, for tests to look at. */
export interface RecordedTask {
  readonly task: WorkflowTask;
  readonly cancelled: string[];
  /** how often it was asked to hand on before its time */
  handoffRequests: number;
  /** how often it was told that others had committed */
  overtakenCount: number;
  /** how often a turn was answered so */
  refused: number;
  readonly turns: CommandBatch[];
  end?: WorkflowTaskEnd;
}

export class ScriptedPrograms implements Programs {
  readonly tasks: RecordedTask[] = [];
  /** the bodies that began: `key#attempt` */
  readonly begun: string[] = [];
  readonly #clock: () => Clock;
  readonly #stages: readonly ScriptStage[];
  readonly #body: StepFunction;
  /** instead of driving */
  otherwise: WorkflowTaskEnd | undefined;

  constructor(clock: () => Clock, stages: readonly ScriptStage[], body: StepFunction = (key) => `${key} done`) {
    this.#clock = clock;
    this.#stages = stages;
    this.#body = body;
  }

  start(_scope: unknown, _manifest: unknown, task: WorkflowTask, host: WorkflowTaskHost): WorkflowTaskHandle {
    const seen: RecordedTask = { task, cancelled: [], handoffRequests: 0, overtakenCount: 0, refused: 0, turns: [] };
    this.tasks.push(seen);
    const body: StepFunction = (key, attempt, signal) => {
      this.begun.push(`${key}#${attempt}`);
      return this.#body(key, attempt, signal);
    };
    if (this.otherwise !== undefined) return ended((seen.end = this.otherwise));
    return new StagedDrive({ clock: this.#clock(), stages: this.#stages, body, task, host, seen });
  }
}

const ended = (end: WorkflowTaskEnd): WorkflowTaskHandle => ({
  ended: Promise.resolve(end),
  replaceHistory: () => {},
  cancel: () => {},
  handOff: () => {},
  kill: async () => {},
});

interface Given {
  readonly clock: Clock;
  readonly stages: readonly ScriptStage[];
  readonly body: StepFunction;
  readonly task: WorkflowTask;
  readonly host: WorkflowTaskHost;
  readonly seen: RecordedTask;
}

class StagedDrive implements WorkflowTaskHandle {
  readonly ended: Promise<WorkflowTaskEnd>;
  readonly #given: Given;
  readonly #abort = new AbortController();
  readonly #atWork = new Map<string, Attempt>();
  readonly #inHand: Done[] = [];
  #history: History<JsonValue>;
  #isUndoing = false;
  #poke: () => void = () => {};
  #settle: (end: WorkflowTaskEnd) => void = () => {};
  #isOver = false;

  constructor(given: Given) {
    this.#given = given;
    this.#history = given.task.history;
    this.#isUndoing = given.task.history.runOutcome !== undefined;
    const { promise, resolve } = Promise.withResolvers<WorkflowTaskEnd>();
    this.ended = promise;
    this.#settle = (end) => {
      this.#isOver = true;
      given.seen.end ??= end;
      resolve(end);
      this.#poke();
    };
    void this.#go();
  }

  replaceHistory(history: History<JsonValue>): void {
    this.#given.seen.overtakenCount += 1;
    this.#take(history);
    this.#poke();
  }

  cancel(reason: string): void {
    this.#given.seen.cancelled.push(reason);
    this.#abort.abort(reason);
    this.#poke();
  }

  handOff(): void {
    this.#given.seen.handoffRequests += 1;
  }

  async kill(message: string): Promise<void> {
    this.#settle({ kind: 'timed_out', message, running: this.#running() });
  }

  #running() {
    return [...this.#atWork].map(([key, attempt]) => ({ key, attempt }));
  }

  #take(history: History<JsonValue>): void {
    this.#history = history;
    // A part of the turn may have been committed: what the log does not wait for any more is not in hand.
    const wanted = new Map(history.open.map(({ key, attempt }) => [key, attempt]));
    this.#inHand.splice(0, this.#inHand.length, ...this.#inHand.filter(({ key, attempt }) => wanted.get(key) === attempt));
    for (const [key, attempt] of this.#atWork) if (wanted.get(key) !== attempt) this.#atWork.delete(key);
    if (history.runOutcome !== undefined && !this.#isUndoing) this.#undo();
  }

  /** What bodies at work come to is not asked for any more. */
  #undo(): void {
    this.#isUndoing = true;
    this.#atWork.clear();
    this.#inHand.length = 0;
  }

  async #go(): Promise<void> {
    const { seen, host } = this.#given;
    while (!this.#isOver) {
      const turn = this.#next();
      if (turn !== undefined) {
        seen.turns.push(turn);
        const answer = await host.commitBatch({ ...turn, historiesReceived: seen.overtakenCount });
        if (this.#isOver) return;
        if (this.#heed(turn, answer)) return this.#settle({ kind: 'finished' });
        continue;
      }
      if (this.#abort.signal.aborted && !this.#isUndoing) return this.#settle({ kind: 'finished' });
      await new Promise<void>((resolve) => (this.#poke = resolve));
    }
  }

  /** What the code says next, where it has anything to say. */
  #next(): CommandBatch | undefined {
    const { clock } = this.#given;
    const entries: CommandBatchEntry[] = [];
    const view = viewOf(this.#history);
    for (const { key, attempt, retryAt } of this.#history.open) {
      if (this.#atWork.has(key) || this.#inHand.some((done) => done.key === key)) continue;
      const now = clock.now();
      if (retryAt !== undefined) {
        if (retryAt <= now) this.#begin(key, attempt);
        continue;
      }
      const failure: Failure = { cause: 'lost', message: 'nobody knows what became of it' };
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
    for (const done of this.#inHand) {
      const entry = entryOf(done);
      entries.push(entry);
      if (entry.kind === 'failed') failed ??= entry.failure;
      if (entry.kind === 'completed') view.settled.set(done.key, true);
    }
    for (const [, ok] of view.settled) if (!ok) failed ??= { cause: 'error', message: 'a step failed' };
    const stages = this.#isUndoing ? this.#undoing() : this.#given.stages;
    const stage = stages.find((each) => !each.every(({ key }) => view.settled.get(key) === true));
    if (stage === undefined) {
      entries.push(
        this.#isUndoing ? { kind: 'rolled-back', failures: [] } : { kind: 'returned', output: [...view.settled.keys()] },
      );
      return { entries, next: 'suspended' };
    }
    if (failed !== undefined && !this.#isUndoing)
      return { entries: [...entries, { kind: 'threw', failure: failed }], next: 'suspended' };
    for (const command of stage) if (!view.asked.has(command.key)) entries.push({ kind: 'scheduled', command });
    const waits = this.#history.open.flatMap(({ key, retryAt }) =>
      retryAt !== undefined && !this.#atWork.has(key) ? [retryAt] : [],
    );
    const again = entries.flatMap((entry) => (entry.kind === 'retried' ? [entry.retryAt] : []));
    const begins =
      entries.some((entry) => entry.kind === 'scheduled' && hasBody(entry.command)) || again.some((at) => at <= clock.now());
    const left = [...this.#atWork.keys()].filter((key) => !this.#inHand.some((done) => done.key === key));
    const isAtWork = begins || left.length > 0;
    if (entries.length === 0 && isAtWork) return undefined;
    const wakeAt = Math.min(...waits, ...again);
    if (isAtWork) return { entries, next: 'running' };
    return { entries, next: 'suspended', ...(Number.isFinite(wakeAt) ? { wakeAt: wakeAt as Instant } : {}) };
  }

  /** The last one that was done is undone first. */
  #undoing(): readonly ScriptStage[] {
    const { asked, settled } = viewOf(this.#history);
    const withRollback = this.#given.stages
      .flat()
      .filter((command) => command.kind === 'function' && command.hasRollback === true && settled.get(command.key) === true);
    const inOrder = [...asked].flatMap((key) => withRollback.filter((command) => command.key === key)).toReversed();
    return inOrder.map(({ key }) => [{ kind: 'rollback', key: `rollback:${key}` }]);
  }

  /** @returns whether the drive is over */
  #heed(turn: CommandBatch, answer: CommandBatchResult): boolean {
    const { seen } = this.#given;
    if (answer.kind === 'stop') return true;
    if (answer.kind === 'overtaken') {
      seen.refused += 1;
      this.#take(answer.history);
      return false;
    }
    if (answer.run === 'ended') return true;
    const entries = [...this.#history.entries];
    let open = [...this.#history.open];
    for (const entry of turn.entries) {
      if (entry.kind === 'scheduled') {
        entries.push({ kind: 'scheduled', key: entry.command.key, step: entry.command.kind });
        if (hasBody(entry.command)) {
          open.push({ key: entry.command.key, attempt: firstAttempt, dispatchCommit: answer.commit, lostAttempts: 0 });
          this.#begin(entry.command.key, firstAttempt);
        }
      } else if (entry.kind === 'completed' || entry.kind === 'failed') {
        this.#drop(entry.key);
        open = open.filter(({ key }) => key !== entry.key);
        const { endedAt } = entry;
        const result: StepResult<JsonValue> =
          entry.kind === 'completed'
            ? { status: 'completed', output: entry.output, endedAt }
            : { status: 'failed', failure: entry.failure, endedAt };
        entries.push({ kind: 'settled', key: entry.key, result });
      } else if (entry.kind === 'retried') {
        this.#drop(entry.key);
        const next = attemptNo(entry.attempt + 1);
        open = open.map((each) => (each.key === entry.key ? { ...each, attempt: next, retryAt: entry.retryAt } : each));
      }
    }
    this.#history = { ...this.#history, entries, open };
    if (answer.run === 'rolling_back' && !this.#isUndoing) {
      this.#undo();
      this.#history = { ...this.#history, open: [] };
      return false;
    }
    return turn.next !== 'running';
  }

  #drop(key: string): void {
    this.#atWork.delete(key);
    this.#inHand.splice(0, this.#inHand.length, ...this.#inHand.filter((done) => done.key !== key));
  }

  #begin(key: string, attempt: Attempt): void {
    const { clock, body, host, stages } = this.#given;
    const startedAt = clock.now();
    this.#atWork.set(key, attempt);
    const end = (result: Done['result']): void => {
      if (this.#isOver || this.#atWork.get(key) !== attempt) return;
      this.#inHand.push({ key, attempt, startedAt, endedAt: clock.now(), result });
      this.#poke();
    };
    const command = stages.flat().find((each) => each.key === key);
    const sending = command?.kind === 'signal-send' ? command : undefined;
    const work = async (): Promise<Done['result']> => {
      if (sending === undefined) return { output: await body(key, attempt, this.#abort.signal) };
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

const hasBody = ({ kind }: Command): boolean => kind === 'function' || kind === 'rollback' || kind === 'signal-send';

function entryOf({ result, ...of }: Done): Extract<CommandBatchEntry, { kind: 'completed' | 'failed' | 'retried' }> {
  if ('output' in result) return { kind: 'completed', ...of, output: result.output };
  if ('failure' in result) return { kind: 'failed', ...of, failure: result.failure };
  const failure: Failure = { cause: 'error', message: 'later' };
  return { kind: 'retried', ...of, failure, delayMs: result.again, retryAt: after(of.endedAt, result.again) };
}

const viewOf = ({ entries, priorResults }: History<JsonValue>) => ({
  asked: new Set(entries.flatMap((entry) => (entry.kind === 'scheduled' ? [entry.key] : []))),
  settled: new Map<string, boolean>([
    ...priorResults.map(({ key }) => [key, true] as const),
    ...entries.flatMap((entry) => (entry.kind === 'settled' ? [[entry.key, entry.result.status === 'completed'] as const] : [])),
  ]),
});
