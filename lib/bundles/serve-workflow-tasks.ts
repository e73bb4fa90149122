/** Runs inside the thread: imports the deployment's module, and executes its workflow tasks, several at a time. */
import { defined } from '../base/defined.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { StepResult, CommandBatchResult } from '../engine/durable/command-batch.ts';
import { invariant } from '../engine/invariant.ts';
import { errorText } from '../engine/error-text.ts';
import type { JsonValue } from '../engine/json.ts';
import { instant } from '../engine/time.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../ports/programs.ts';
import type { ProgramClock } from '../program/clock.ts';
import type { FromProgram, ProgramThreadData, ToProgram } from './messages.ts';
import { forwardOutput } from './code-output.ts';
import { createStackMapper } from './source-stacks.ts';
import type { StackMapper } from '../program/failures.ts';

export type StartWorkflowTask = (
  workflows: unknown,
  task: WorkflowTask,
  host: WorkflowTaskHost,
  settings: { readonly deploymentId: string; readonly clock: ProgramClock; readonly mapStack: StackMapper },
) => WorkflowTaskHandle;

const { setTimeout: setTimer, clearTimeout: clearTimer, setImmediate: scheduleImmediate } = globalThis;
const readSystemClock = Date.now.bind(Date);
/** Maximum delay of `setTimeout`. A longer delay would fire immediately. */
const maxTimerMs = 2_147_483_647;
/** Uses timers saved before the import, because the author's code may replace the globals. */
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
  readonly handle: WorkflowTaskHandle;
  resolveBatch: ((result: CommandBatchResult) => void) | undefined;
  readonly calls: Map<number, PromiseWithResolvers<StepResult<JsonValue>>>;
}

/** The workflow task executor, and the capture of output of step functions. */
export interface Program {
  readonly startWorkflowTask: StartWorkflowTask;
  /** called synchronously, in the async context of the code that printed */
  readonly capturePrinted: (text: string) => unknown;
}

export async function serveWorkflowTasks({ startWorkflowTask, capturePrinted }: Program): Promise<void> {
  const port = parentPort;
  invariant(port !== null, 'the thread of a deployment must run as a worker thread');
  const { deploymentId, program }: ProgramThreadData = workerData;
  const post = posterTo(port);
  /** The task whose code runs, propagated through promises and timers. */
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
  const settings = { deploymentId, clock: threadClock, mapStack: createStackMapper(program) };
  const activeTasks = new Map<number, ActiveTask>();
  const start = (id: number, task: WorkflowTask): void => {
    const ended = (end: WorkflowTaskEnd): void => {
      activeTasks.delete(id);
      post({ kind: 'ended', taskId: id, end: JSON.stringify(end) });
      resetPrintBudget(id);
    };
    const calls: ActiveTask['calls'] = new Map();
    const host = hostOf(id, post, calls, () => activeTasks.get(id));
    const handle = startWorkflowTask(workflows, task, host, settings);
    activeTasks.set(id, { handle, resolveBatch: undefined, calls });
    void handle.ended.then(ended);
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
  // Imported after the listener is added: without a listener, a module that awaits forever would let the thread exit.
  const imported = await importWorkflows(program);
  if ('error' in imported) return post({ kind: 'unloadable', message: imported.error });
  workflows = imported.workflows;
  post({ kind: 'loaded' });
}

/** The host of a workflow task: it passes command batches and calls to the parent process, and waits for their results. */
const hostOf = (
  taskId: number,
  post: (message: FromProgram) => void,
  calls: ActiveTask['calls'],
  activeTask: () => ActiveTask | undefined,
): WorkflowTaskHost => ({
  commitBatch: (batch) => {
    const { promise, resolve } = Promise.withResolvers<CommandBatchResult>();
    const active = activeTask();
    if (active !== undefined) active.resolveBatch = resolve;
    post({ kind: 'batch', taskId, batch: JSON.stringify(batch) });
    return promise;
  },
  perform: (command) => {
    const call = calls.size;
    const waiting = Promise.withResolvers<StepResult<JsonValue>>();
    calls.set(call, waiting);
    post({ kind: 'perform', taskId, call, command: JSON.stringify(command) });
    return waiting.promise;
  },
});

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

function dispatch({ handle, resolveBatch, calls }: ActiveTask, message: Exclude<ToProgram, { kind: 'start' }>): void {
  switch (message.kind) {
    case 'batch_result':
      return resolveBatch?.(message.result);
    case 'performed':
      return calls.get(message.call)?.resolve(message.result);
    case 'perform_failed':
      return calls.get(message.call)?.reject(new Error('the signal could not be sent; the worker has recorded the reason'));
    case 'replace_history':
      return handle.replaceHistory(message.history);
    case 'cancel':
      return handle.cancel(message.reason);
    case 'hand_off':
      return handle.handOff();
    case 'kill':
      return void handle.kill(message.message);
  }
}

/** The SDK's mark of a workflow. The artifact bundles its own copy of the SDK, so classes cannot be compared. */
const mark = Symbol.for('stepwell.workflow');

interface NamedSpec {
  readonly name: string;
  readonly version?: string;
}

/** @returns an error message, or undefined for a valid `workflows` export */
function findWorkflowsError(workflows: unknown): string | undefined {
  if (workflows === undefined) return 'the module exports no `workflows`';
  if (!Array.isArray(workflows)) return '`workflows` must be an array';
  const seen = new Set<string>();
  for (const [index, each] of workflows.entries()) {
    const spec = specOf(each);
    if (spec === undefined) return `\`workflows[${index}]\` was not made by defineWorkflow`;
    const { name, version } = spec;
    const identity = JSON.stringify([name, version]);
    if (seen.has(identity))
      return `two workflows have the name ${name}${version === undefined ? ' and no version' : ` and the version ${version}`}`;
    seen.add(identity);
  }
  return undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function specOf(workflow: unknown): NamedSpec | undefined {
  if (!isObject(workflow) || !(mark in workflow) || !('spec' in workflow) || !isObject(workflow.spec)) return undefined;
  const { spec } = workflow;
  if (!('name' in spec) || typeof spec.name !== 'string') return undefined;
  const version = 'version' in spec ? spec.version : undefined;
  if (version === undefined) return { name: spec.name };
  return typeof version === 'string' ? { name: spec.name, version } : undefined;
}
