/**
 * Entry point of this module: starts one workflow task. The module does no I/O. The host commits (`lib/ports/programs.ts`), and the
 * caller supplies the clock. The caller (the thread with the author's code)
 *
 * - passes the `workflows` export of the author's module unchanged;
 * - keeps the order of `replaceHistory`, `cancel` and batches: a batch says how many histories the task had received
 *   (`CommandBatch.historiesReceived`), so that the host can reject an outdated batch;
 * - passes the thread's output to `capturePrinted` (`printed.ts`) synchronously, which assigns lines to steps;
 * - monitors the thread: this module cannot detect endless loops, `process.exit` and unhandled rejections.
 */
import { defined } from '../base/defined.ts';
import { type History, replayVersion } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../ports/programs.ts';
import { type ProgramClock, WakeUp } from './clock.ts';
import { StepFunctions } from './step-functions.ts';
import { executeWorkflowTask } from './execute-workflow-task.ts';
import { type StackMapper, failureOf } from './failures.ts';
import { findWorkflow } from './find-workflow.ts';
import type { ExecutionContext, Interrupts } from './execution-context.ts';
import type { Print } from './printed.ts';

export interface WorkflowTaskSettings {
  readonly deploymentId: string;
  readonly clock: ProgramClock;
  /** maps the stack of an error to the author's files, relative to the project; absent: the stack is stored as it is */
  readonly mapStack?: StackMapper;
  /** where the author's logger writes; default: the console of this process */
  readonly print?: Print;
  /** how long the code may await something that is not a step; default: 30 s */
  readonly stallTimeoutMs?: DurationMs;
}

export const defaultStallTimeoutMs = seconds(30);

/** Never throws, and `ended` never rejects. */
export function startWorkflowTask(
  workflows: unknown,
  task: WorkflowTask,
  host: WorkflowTaskHost,
  settings: WorkflowTaskSettings,
): WorkflowTaskHandle {
  const { clock, deploymentId, mapStack, print = toConsole, stallTimeoutMs = defaultStallTimeoutMs } = settings;
  const interrupts: Interrupts = { historiesReceived: 0, isKilled: false, isHandOffRequested: false };
  const wakeUp = new WakeUp();
  const stepFunctions = new StepFunctions({ clock, runId: task.run.runId, mapStack, onEnd: () => wakeUp.notify() });
  const { promise: ended, resolve } = Promise.withResolvers<WorkflowTaskEnd>();
  const shared = defined({ task, host, deploymentId, clock, mapStack, wakeUp, stepFunctions, interrupts, print, stallTimeoutMs });
  loadAndExecute(workflows, shared).then(resolve, (error: unknown) => {
    const running = stepFunctions.running;
    stepFunctions.abortAll('the workflow task has ended');
    resolve({ kind: 'crashed', message: failureOf(error).message, running });
  });
  return {
    ended,
    replaceHistory: (history: History<JsonValue>) => {
      interrupts.historiesReceived += 1;
      interrupts.history = history;
      wakeUp.notify();
    },
    cancel: (reason) => {
      interrupts.cancelled = reason;
      stepFunctions.abortAll(reason);
      wakeUp.notify();
    },
    handOff: () => {
      interrupts.isHandOffRequested = true;
      wakeUp.notify();
    },
    kill: async (message) => {
      resolve({ kind: 'timed_out', message, running: stepFunctions.running });
      interrupts.isKilled = true;
      stepFunctions.abortAll(message);
      wakeUp.notify();
      await ended;
    },
  };
}

async function loadAndExecute(workflows: unknown, shared: Omit<ExecutionContext, 'workflow'>): Promise<WorkflowTaskEnd> {
  const { task } = shared;
  if (task.replayVersion > replayVersion)
    return {
      kind: 'unloadable',
      message: `this run needs replay version ${task.replayVersion}; this worker supports up to ${replayVersion}. Update the worker`,
    };
  const lookup = findWorkflow(workflows, task.run);
  return lookup.kind === 'found' ? executeWorkflowTask({ ...shared, workflow: lookup.workflow }) : lookup;
}

// oxlint-disable-next-line no-console -- the author's log lines go to the same output as console.log of the author
const toConsole: Print = (level, line) => console[level](line);
