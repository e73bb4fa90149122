/** The inside of the thread of a deployment of code: imports its module, and drives one run or several at a time with it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { StepResult, TurnAnswer } from '../engine/durable/turn.ts';
import { invariant } from '../engine/invariant.ts';
import { wordsOf } from '../engine/words-of.ts';
import type { JsonValue } from '../engine/json.ts';
import { instant } from '../engine/time.ts';
import type { Drive, DriveEnd, DriveHost, DriveTask } from '../ports/programs.ts';
import type { ProgramClock } from '../program/clock.ts';
import type { FromProgram, ProgramThreadData, ToProgram } from './program-messages.ts';
import { sendPrints } from './thread-prints.ts';
import { faultOfWorkflows } from './workflow-list.ts';

export type BeginDrive = (
  workflows: unknown,
  task: DriveTask,
  host: DriveHost,
  settings: { readonly deploymentId: string; readonly clock: ProgramClock },
) => Drive;

const { setTimeout: set, clearTimeout: clear, setImmediate: next } = globalThis;
const nowOf = Date.now.bind(Date);
/** The longest that a timer of the system keeps: what is longer, it would fire at once. */
const longestTimerMs = 2_147_483_647;
/** Taken before the author's code is there, which may put something else in its place. */
const threadClock: ProgramClock = {
  now: () => instant(nowOf()),
  drained: () => new Promise((resolve) => void next(resolve)),
  sleep: (wait, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = (): void => {
        clear(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = set(wake, Math.min(wait, longestTimerMs));
      signal.addEventListener('abort', wake);
    }),
};

interface Held {
  readonly drive: Drive;
  answer: ((answer: TurnAnswer) => void) | undefined;
  readonly calls: Map<number, PromiseWithResolvers<StepResult<JsonValue>>>;
}

/** Who drives, and who keeps what the bodies of steps print. */
export interface Program {
  readonly beginDrive: BeginDrive;
  /** told synchronously, in the context of the code that printed */
  readonly notePrinted: (text: string) => unknown;
}

export async function serveDrives({ beginDrive, notePrinted }: Program): Promise<void> {
  const port = parentPort;
  invariant(port !== null, 'the thread of a deployment was started as a program of its own');
  const { deploymentId, program }: ProgramThreadData = workerData;
  const say = saidTo(port);
  /** Which drive's code is at work, as far as its promises and timers go. */
  const current = new AsyncLocalStorage<number>();
  const forget = sendPrints(
    () => current.getStore(),
    (drive, stream, text) => {
      notePrinted(text);
      say({ kind: 'printed', ...(drive === undefined ? {} : { drive }), stream, text });
    },
  );
  process.on('exit', () => {
    const drive = current.getStore();
    say({ kind: 'breaking', ...(drive === undefined ? {} : { drive }) });
  });

  let workflows: unknown;
  const held = new Map<number, Held>();
  const begin = (id: number, task: DriveTask): void => {
    const ended = (end: DriveEnd): void => {
      held.delete(id);
      say({ kind: 'ended', drive: id, end: JSON.stringify(end) });
      forget(id);
    };
    const calls: Held['calls'] = new Map();
    const host: DriveHost = {
      turn: (turn) => {
        const { promise, resolve } = Promise.withResolvers<TurnAnswer>();
        const mine = held.get(id);
        if (mine !== undefined) mine.answer = resolve;
        say({ kind: 'turn', drive: id, turn: JSON.stringify(turn) });
        return promise;
      },
      perform: (command) => {
        const call = calls.size;
        const waiting = Promise.withResolvers<StepResult<JsonValue>>();
        calls.set(call, waiting);
        say({ kind: 'perform', drive: id, call, command: JSON.stringify(command) });
        return waiting.promise;
      },
    };
    const drive = beginDrive(workflows, task, host, { deploymentId, clock: threadClock });
    held.set(id, { drive, answer: undefined, calls });
    void drive.ended.then(ended);
  };
  port.on('message', (message: ToProgram) =>
    current.run(message.drive, () => {
      if (message.kind === 'begin') {
        Object.assign(process.env, message.lent);
        return begin(message.drive, message.task);
      }
      const mine = held.get(message.drive);
      if (mine !== undefined) tell(mine, message);
    }),
  );
  // Not before there is somebody who hears: a module that waits for ever would find itself alone, and the thread would end.
  const read = await workflowsIn(program);
  if ('fault' in read) return say({ kind: 'unloadable', message: read.fault });
  workflows = read.workflows;
  say({ kind: 'loaded' });
}

const saidTo =
  (port: MessagePort) =>
  (message: FromProgram): void =>
    port.postMessage(message);

async function workflowsIn(program: string): Promise<{ readonly workflows: unknown } | { readonly fault: string }> {
  try {
    const { workflows }: { readonly workflows?: unknown } = await import(program);
    const fault = faultOfWorkflows(workflows);
    return fault === undefined ? { workflows } : { fault };
  } catch (error) {
    return { fault: wordsOf(error) };
  }
}

function tell({ drive, answer, calls }: Held, message: Exclude<ToProgram, { kind: 'begin' }>): void {
  switch (message.kind) {
    case 'answered':
      return answer?.(message.answer);
    case 'performed':
      return calls.get(message.call)?.resolve(message.result);
    case 'not_performed':
      return calls.get(message.call)?.reject(new Error('it could not be sent'));
    case 'overtake':
      return drive.overtake(message.history);
    case 'cancel':
      return drive.cancel(message.reason);
    case 'hand_on':
      return drive.handOn();
    case 'kill':
      return void drive.kill(message.message);
  }
}
