/** The inside of the thread of a deployment of code: imports its module, and drives one run or several at a time with it. */
import { defined } from '../engine/defined.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { StepResult, CommandBatchResult } from '../engine/durable/command-batch.ts';
import { invariant } from '../engine/invariant.ts';
import { errorText } from '../engine/error-text.ts';
import type { JsonValue } from '../engine/json.ts';
import { instant } from '../engine/time.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../ports/programs.ts';
import type { ProgramClock } from '../program/clock.ts';
import type { FromProgram, ProgramThreadData, ToProgram } from './program-messages.ts';
import { forwardOutput } from './forward-output.ts';
import { findWorkflowsError } from './workflow-list.ts';

export type StartWorkflowTask = (
  workflows: unknown,
  task: WorkflowTask,
  host: WorkflowTaskHost,
  settings: { readonly deploymentId: string; readonly clock: ProgramClock },
) => WorkflowTaskHandle;

const { setTimeout: setTimer, clearTimeout: clearTimer, setImmediate: scheduleImmediate } = globalThis;
const readSystemClock = Date.now.bind(Date);
/** The longest that a timer of the system keeps: what is longer, it would fire at once. */
const maxTimerMs = 2_147_483_647;
/** Taken before the author's code is there, which may put something else in its place. */
const threadClock: ProgramClock = {
  now: () => instant(readSystemClock()),
  waitUntilIdle: () => new Promise((resolve) => void scheduleImmediate(resolve)),
  sleep: (wait, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = (): void => {
        clearTimer(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimer(wake, Math.min(wait, maxTimerMs));
      signal.addEventListener('abort', wake);
    }),
};

interface ActiveTask {
  readonly drive: WorkflowTaskHandle;
  resolveBatch: ((resolveBatch: CommandBatchResult) => void) | undefined;
  readonly calls: Map<number, PromiseWithResolvers<StepResult<JsonValue>>>;
}

/** Who drives, and who keeps what the bodies of steps print. */
export interface Program {
  readonly startWorkflowTask: StartWorkflowTask;
  /** told synchronously, in the context of the code that printed */
  readonly capturePrinted: (text: string) => unknown;
}

export async function serveWorkflowTasks({ startWorkflowTask, capturePrinted }: Program): Promise<void> {
  const port = parentPort;
  invariant(port !== null, 'the thread of a deployment was started as a program of its own');
  const { deploymentId, program }: ProgramThreadData = workerData;
  const post = posterTo(port);
  /** Which drive's code is at work, as far as its promises and timers go. */
  const current = new AsyncLocalStorage<number>();
  const resetPrintBudget = forwardOutput(
    () => current.getStore(),
    (taskId, stream, text) => {
      capturePrinted(text);
      post(defined({ kind: 'printed', taskId, stream, text }));
    },
  );
  process.on('exit', () => {
    const taskId = current.getStore();
    post(defined({ kind: 'breaking', taskId }));
  });

  let workflows: unknown;
  const activeTasks = new Map<number, ActiveTask>();
  const start = (id: number, task: WorkflowTask): void => {
    const ended = (end: WorkflowTaskEnd): void => {
      activeTasks.delete(id);
      post({ kind: 'ended', taskId: id, end: JSON.stringify(end) });
      resetPrintBudget(id);
    };
    const calls: ActiveTask['calls'] = new Map();
    const host: WorkflowTaskHost = {
      commitBatch: (turn) => {
        const { promise, resolve } = Promise.withResolvers<CommandBatchResult>();
        const active = activeTasks.get(id);
        if (active !== undefined) active.resolveBatch = resolve;
        post({ kind: 'batch', taskId: id, batch: JSON.stringify(turn) });
        return promise;
      },
      perform: (command) => {
        const call = calls.size;
        const waiting = Promise.withResolvers<StepResult<JsonValue>>();
        calls.set(call, waiting);
        post({ kind: 'perform', taskId: id, call, command: JSON.stringify(command) });
        return waiting.promise;
      },
    };
    const drive = startWorkflowTask(workflows, task, host, { deploymentId, clock: threadClock });
    activeTasks.set(id, { drive, resolveBatch: undefined, calls });
    void drive.ended.then(ended);
  };
  port.on('message', (message: ToProgram) =>
    current.run(message.taskId, () => {
      if (message.kind === 'start') {
        Object.assign(process.env, message.credentialVariables);
        return start(message.taskId, message.task);
      }
      const active = activeTasks.get(message.taskId);
      if (active !== undefined) dispatch(active, message);
    }),
  );
  // Not before there is somebody who hears: a module that waits for ever would find itself alone, and the thread would end.
  const imported = await importWorkflows(program);
  if ('error' in imported) return post({ kind: 'unloadable', message: imported.error });
  workflows = imported.workflows;
  post({ kind: 'loaded' });
}

const posterTo =
  (port: MessagePort) =>
  (message: FromProgram): void =>
    port.postMessage(message);

async function importWorkflows(program: string): Promise<{ readonly workflows: unknown } | { readonly error: string }> {
  try {
    const { workflows }: { readonly workflows?: unknown } = await import(program);
    const error = findWorkflowsError(workflows);
    return error === undefined ? { workflows } : { error };
  } catch (error) {
    return { error: errorText(error) };
  }
}

function dispatch({ drive, resolveBatch, calls }: ActiveTask, message: Exclude<ToProgram, { kind: 'start' }>): void {
  switch (message.kind) {
    case 'batch_result':
      return resolveBatch?.(message.result);
    case 'performed':
      return calls.get(message.call)?.resolve(message.result);
    case 'perform_failed':
      return calls.get(message.call)?.reject(new Error('it could not be sent'));
    case 'replace_history':
      return drive.replaceHistory(message.history);
    case 'cancel':
      return drive.cancel(message.reason);
    case 'hand_off':
      return drive.handOff();
    case 'kill':
      return void drive.kill(message.message);
  }
}
