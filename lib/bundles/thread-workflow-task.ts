/** A workflow task on a thread, seen from the parent process. It parses the task's requests and passes them to the host, one batch at a time. */
import type * as z from 'zod';
import type { History, CommandBatchResult, CommandBatch, CommandBatchEntry } from '../engine/durable/command-batch.ts';
import { type Attempt, attempt, firstAttempt } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { DurationMs, Instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../ports/programs.ts';
import type { ToProgram, fromProgram } from './messages.ts';
import { type Parsed, parseTaskEnd, parseSignalSend, parseBatch } from './parse-task-messages.ts';
import { type PrintedLines, printedLines } from './code-output.ts';

/** What a task needs from its thread. */
interface TaskThread {
  readonly clock: Clock;
  readonly killTimeoutMs: DurationMs;
  readonly post: (message: ToProgram) => void;
  readonly print: (stream: 'stdout' | 'stderr', text: string) => void;
  readonly endThread: () => Promise<void>;
  readonly onEnded: () => void;
}

type TaskMessage = Extract<z.output<typeof fromProgram>, { kind: 'batch' | 'perform' | 'ended' }>;

export class ThreadWorkflowTask implements WorkflowTaskHandle {
  readonly id: number;
  readonly ended: Promise<WorkflowTaskEnd>;
  readonly lines: Readonly<Record<'stdout' | 'stderr', PrintedLines>>;
  readonly #resolve: (end: WorkflowTaskEnd) => void;
  readonly #host: WorkflowTaskHost;
  readonly #thread: TaskThread;
  readonly #stepFunctions: RunningStepFunctions;
  #isCommitting = false;
  #hasEnded = false;

  constructor(id: number, { history }: WorkflowTask, host: WorkflowTaskHost, thread: TaskThread) {
    this.id = id;
    this.#host = host;
    this.#thread = thread;
    this.#stepFunctions = new RunningStepFunctions(history.open);
    const { promise, resolve } = Promise.withResolvers<WorkflowTaskEnd>();
    this.ended = promise;
    this.#resolve = resolve;
    const lines = (stream: 'stdout' | 'stderr'): PrintedLines => printedLines((text) => thread.print(stream, text));
    this.lines = { stdout: lines('stdout'), stderr: lines('stderr') };
  }

  get running(): readonly RunningStepFunction[] {
    return this.#stepFunctions.runningAt(this.#thread.clock.now());
  }

  replaceHistory(history: History<JsonValue>): void {
    this.#post({ kind: 'replace_history', taskId: this.id, history });
  }

  cancel(reason: string): void {
    this.#post({ kind: 'cancel', taskId: this.id, reason });
  }

  handOff(): void {
    this.#post({ kind: 'hand_off', taskId: this.id });
  }

  /** Running step functions, and code that does not yield, can only be stopped by ending the thread. */
  async kill(message: string): Promise<void> {
    if (this.#hasEnded) return;
    const { running } = this;
    this.#post({ kind: 'kill', taskId: this.id, message });
    const { promise, resolve } = Promise.withResolvers<'no_response'>();
    const timer = setTimeout(() => resolve('no_response'), this.#thread.killTimeoutMs);
    const result = running.length > 0 ? 'no_response' : await Promise.race([this.ended, promise]);
    clearTimeout(timer);
    this.settle({ kind: 'timed_out', message, running });
    if (result === 'no_response') await this.#thread.endThread();
  }

  settle(end: WorkflowTaskEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const lines of Object.values(this.lines)) lines.flush();
    this.#thread.onEnded();
    this.#resolve(end);
  }

  onMessage(message: TaskMessage): void {
    if (this.#hasEnded) return;
    if (message.kind === 'ended') return this.#handle('its end', parseTaskEnd(message.end), (end) => this.settle(end));
    if (message.kind === 'batch')
      return this.#handle('a command batch', parseBatch(message.batch), (batch) => void this.#commit(batch));
    this.#handle('a command', parseSignalSend(message.command), (command) => void this.#perform(message.call, command));
  }

  #post(message: ToProgram): void {
    if (!this.#hasEnded) this.#thread.post(message);
  }

  #handle<Value>(what: string, parsed: Parsed<Value>, handle: (value: Value) => void): void {
    if (parsed.kind === 'parsed') handle(parsed.value);
    else void this.#terminate(`the thread of the code sent an invalid message: ${what} ${parsed.reason}`);
  }

  async #terminate(message: string): Promise<void> {
    this.settle({ kind: 'crashed', message, running: this.running });
    await this.#thread.endThread();
  }

  async #commit(batch: Parameters<WorkflowTaskHost['commitBatch']>[0]): Promise<void> {
    if (this.#isCommitting) return this.#terminate('the thread of the code sent two command batches at once');
    this.#isCommitting = true;
    let result: CommandBatchResult;
    try {
      result = await this.#host.commitBatch(batch);
    } catch {
      // The host handles its own error; the task only has to stop.
      result = { kind: 'stop' };
    }
    this.#isCommitting = false;
    if (result.kind === 'committed') this.#stepFunctions.record(batch);
    this.#post({ kind: 'batch_result', taskId: this.id, result });
  }

  async #perform(call: number, command: Parameters<WorkflowTaskHost['perform']>[0]): Promise<void> {
    try {
      this.#post({ kind: 'performed', taskId: this.id, call, result: await this.#host.perform(command) });
    } catch {
      this.#post({ kind: 'perform_failed', taskId: this.id, call });
    }
  }
}

/** Tracks which step functions of a workflow task may run, from its commits: a step starts when its command is committed. */
interface StepFunctionState {
  readonly attempt: Attempt;
  /** it does not start before this time */
  readonly notBefore?: Instant;
}

export interface RunningStepFunction {
  readonly key: string;
  readonly attempt: Attempt;
}

/** Tracks which step functions of a workflow task may run, from its commits: a step starts when its command is committed. */
class RunningStepFunctions {
  readonly #stepFunctions = new Map<string, StepFunctionState>();

  /** Open steps without a retry time belong to an earlier workflow task. This task reports them as lost in its first batch. */
  constructor(open: History<unknown>['open']) {
    for (const { key, attempt: attemptNumber, retryAt } of open)
      if (retryAt !== undefined) this.#stepFunctions.set(key, { attempt: attemptNumber, notBefore: retryAt });
  }

  record({ entries }: CommandBatch): void {
    for (const entry of entries) this.#recordEntry(entry);
  }

  runningAt(now: Instant): readonly RunningStepFunction[] {
    return [...this.#stepFunctions]
      .filter(([, { notBefore }]) => notBefore === undefined || notBefore <= now)
      .map(([key, { attempt: attemptNumber }]) => ({ key, attempt: attemptNumber }));
  }

  #recordEntry(entry: CommandBatchEntry): void {
    switch (entry.kind) {
      case 'scheduled':
        if (entry.command.kind === 'function' || entry.command.kind === 'rollback')
          this.#stepFunctions.set(entry.command.key, { attempt: firstAttempt });
        return;
      case 'retried':
        this.#stepFunctions.set(entry.key, { attempt: attempt(entry.attempt + 1), notBefore: entry.retryAt });
        return;
      case 'completed':
      case 'failed':
        this.#stepFunctions.delete(entry.key);
        return;
      case 'returned':
      case 'threw':
      case 'rolled-back':
        return;
    }
  }
}
