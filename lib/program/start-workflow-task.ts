/**
 * The door of this room: one drive of one run's code, against the one who holds its log. Nothing here reads, writes or waits by
 * itself: the host commits (`lib/ports/programs.ts`), the clock is given. Whoever runs it (a thread with the author's code)
 *
 * - passes what the author's module exports as `workflows`, as it is;
 * - hands over each `overtake`, `cancel` and turn in the order in which they came: a turn says how many histories the drive knew
 *   of when it was made (`Turn.heard`), so that the host can tell one that is too late;
 * - gives `capturePrinted` (`printed.ts`) what the thread's output is given, synchronously: lines of steps are found by it;
 * - watches over the thread: an endless loop, `process.exit` and rejections that nobody handles are not seen from in here.
 */
import type { History } from '../engine/durable/command-batch.ts';
import { replayVersion } from '../engine/durable/replay-version.ts';
import type { JsonValue } from '../engine/json.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../ports/programs.ts';
import { WakeUp } from './wake-up.ts';
import { StepFunctions } from './step-functions.ts';
import type { ProgramClock } from './clock.ts';
import { executeWorkflowTask } from './execute-workflow-task.ts';
import { failureOf } from './failures.ts';
import { findWorkflow } from './find-workflow.ts';
import type { ExecutionContext, Interrupts } from './execution-context.ts';
import type { Print } from './program-log.ts';

export interface WorkflowTaskSettings {
  readonly deploymentId: string;
  readonly clock: ProgramClock;
  /** where the author's logger writes; absent: to the console of whoever runs this */
  readonly print?: Print;
  /** how long code that awaits something that is no step may take; absent: 30 s */
  readonly stallTimeoutMs?: DurationMs;
}

const defaultStallTimeoutMs = seconds(30);

/** Never throws, and `ended` never rejects. */
export function startWorkflowTask(
  workflows: unknown,
  task: WorkflowTask,
  host: WorkflowTaskHost,
  settings: WorkflowTaskSettings,
): WorkflowTaskHandle {
  const { clock, deploymentId, print = toConsole, stallTimeoutMs = defaultStallTimeoutMs } = settings;
  const interrupts: Interrupts = { historiesReceived: 0, isKilled: false, isHandOffRequested: false };
  const wakeUp = new WakeUp();
  const stepFunctions = new StepFunctions(clock, task.run.runId, () => wakeUp.notify());
  const { promise: ended, resolve } = Promise.withResolvers<WorkflowTaskEnd>();
  const shared = { task, host, deploymentId, clock, wakeUp, stepFunctions, interrupts, print, stallTimeoutMs };
  loadAndExecute(workflows, shared).then(resolve, (error: unknown) => {
    const running = stepFunctions.running;
    stepFunctions.abortAll('the drive is over');
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
      message: `this run is replayed as of version ${task.replayVersion}, and here ${replayVersion} is the last`,
    };
  const lookup = findWorkflow(workflows, task.run);
  return lookup.kind === 'found' ? executeWorkflowTask({ ...shared, workflow: lookup.workflow }) : lookup;
}

// oxlint-disable-next-line no-console -- what the author's code says goes where what it prints goes
const toConsole: Print = (level, line) => console[level](line);
