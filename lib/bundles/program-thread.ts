/** One thread with the code workflows of a deployment. It executes several workflow tasks at once; all of them end with the thread. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { DurationMs } from '../engine/time.ts';
import { errorText } from '../engine/error-text.ts';
import type { Clock } from '../ports/clock.ts';
import {
  type WorkflowTaskHandle,
  type WorkflowTaskEnd,
  type WorkflowTaskHost,
  type WorkflowTask,
  programPath,
} from '../ports/programs.ts';
import { type ProgramThreadData, type ToProgram, fromProgram } from './messages.ts';
import type { ThreadSettings } from './bundle-thread.ts';
import { ThreadWorkflowTask } from './thread-workflow-task.ts';
import { type PrintedLines, printedLines, responseLimits } from './code-output.ts';
import { environmentOf } from './thread-start.ts';
import type { DeploymentThread } from './thread-slots.ts';

export interface ProgramThreadSettings extends ThreadSettings {
  readonly clock: Clock;
  /** entry point of the thread */
  readonly file: URL;
  /** for the import of the module; exceeding it makes the deployment unloadable, because a retry would hang too */
  readonly importTimeoutMs: DurationMs;
  /** how long a killed workflow task may take to end before the thread is terminated */
  readonly killTimeoutMs: DurationMs;
}

const endedByOtherRun = 'the thread was ended because of another run on it';

export class ProgramThread implements DeploymentThread {
  readonly #worker: Worker;
  readonly #settings: ProgramThreadSettings;
  readonly #tasks = new Map<number, ThreadWorkflowTask>();
  /** messages that wait until the module is imported */
  readonly #queuedMessages: ToProgram[] = [];
  /** output that belongs to no workflow task, such as output during the import */
  readonly #lines: Readonly<Record<'stdout' | 'stderr', PrintedLines>>;
  readonly #importTimer: NodeJS.Timeout;
  #lastId = 0;
  #hasLoaded = false;
  #isAlive = true;
  /** the task whose code ended the thread, if known */
  #breakingTaskId: number | undefined;

  constructor(settings: ProgramThreadSettings) {
    this.#settings = settings;
    const { deploymentId, folder, importTimeoutMs, memoryMb, print, variables } = settings;
    const workerData: ProgramThreadData = { deploymentId, program: pathToFileURL(join(folder, programPath)).href };
    this.#worker = new Worker(settings.file, {
      workerData,
      env: environmentOf(deploymentId, variables),
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      name: `deployment ${deploymentId}`,
    });
    const lines = (stream: 'stdout' | 'stderr'): PrintedLines => printedLines((text) => print({ deploymentId, stream, text }));
    this.#lines = { stdout: lines('stdout'), stderr: lines('stderr') };
    this.#worker.on('message', (message: unknown) => this.#onMessage(message));
    let crashMessage: string | undefined;
    this.#worker.on('error', (error: unknown) => {
      this.#isAlive = false;
      crashMessage = `the code broke its thread: ${describeError(error)}`;
    });
    this.#worker.on('exit', (code) => this.#failAll(crashMessage ?? `the code ended its thread with code ${code}`));
    this.#worker.unref();
    this.#importTimer = setTimeout(
      () => this.#failLoading(`the module was not imported within ${importTimeoutMs} ms`),
      importTimeoutMs,
    );
    this.#importTimer.unref();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** @param credentialVariables current credentials; those of the thread's start may have expired */
  start(task: WorkflowTask, host: WorkflowTaskHost, credentialVariables: Readonly<Record<string, string>>): WorkflowTaskHandle {
    this.#lastId += 1;
    const id = this.#lastId;
    const { deploymentId, clock, killTimeoutMs, print } = this.#settings;
    const handle = new ThreadWorkflowTask(id, task, host, {
      clock,
      killTimeoutMs,
      post: (message) => this.#post(message),
      print: (stream, text) => print({ deploymentId, runId: task.run.runId, stream, text }),
      endThread: () => {
        this.#breakingTaskId = id;
        return this.end();
      },
      onEnded: () => {
        this.#tasks.delete(id);
        if (this.#tasks.size === 0) this.#worker.unref();
      },
    });
    if (!this.#isAlive)
      handle.settle({ kind: 'crashed', message: 'the thread ended before the workflow task started', running: [] });
    else {
      this.#tasks.set(id, handle);
      this.#worker.ref();
      this.#post({ kind: 'start', taskId: id, task, credentialVariables });
    }
    return handle;
  }

  async end(): Promise<void> {
    this.#failAll('the thread was ended');
    await this.#worker.terminate();
  }

  #post(message: ToProgram): void {
    if (this.#hasLoaded) this.#worker.postMessage(message);
    else this.#queuedMessages.push(message);
  }

  #onMessage(raw: unknown): void {
    const { data: message } = fromProgram.safeParse(raw);
    // The author's code can write to the same port. Messages outside of the protocol are ignored.
    if (message === undefined) return;
    if (message.kind === 'loaded') return this.#onLoaded();
    if (message.kind === 'unloadable') return this.#failLoading(message.message);
    if (message.kind === 'breaking') return void (this.#breakingTaskId = message.taskId);
    const task = message.taskId === undefined ? undefined : this.#tasks.get(message.taskId);
    if (message.kind === 'printed') return (task?.lines ?? this.#lines)[message.stream].add(message.text);
    task?.onMessage(message);
  }

  #onLoaded(): void {
    clearTimeout(this.#importTimer);
    this.#hasLoaded = true;
    for (const lines of Object.values(this.#lines)) lines.flush();
    for (const message of this.#queuedMessages.splice(0)) this.#worker.postMessage(message);
  }

  /** Node caches a failed import, so the thread is ended. */
  #failLoading(message: string): void {
    if (this.#hasLoaded || !this.#isAlive) return;
    this.#settleAll(() => ({ kind: 'unloadable', message }));
    void this.end();
  }

  #failAll(reason: string): void {
    this.#isAlive = false;
    clearTimeout(this.#importTimer);
    const isKnown = this.#breakingTaskId !== undefined;
    this.#settleAll((task) => {
      if (!this.#hasLoaded) return { kind: 'unloadable', message: reason };
      // The other tasks have lost their step functions, but are not blamed. If the task that ended the thread is unknown, all are blamed.
      if (isKnown && task.id !== this.#breakingTaskId) return { kind: 'crashed', message: endedByOtherRun, running: [] };
      return { kind: 'crashed', message: reason, running: task.running };
    });
    for (const lines of Object.values(this.#lines)) lines.flush();
  }

  #settleAll(endOf: (task: ThreadWorkflowTask) => WorkflowTaskEnd): void {
    const ends = [...this.#tasks.values()].map((task) => [task, endOf(task)] as const);
    for (const [task, end] of ends) task.settle(end);
  }
}

const describeError = (error: unknown): string => errorText(error).slice(0, responseLimits.message);
