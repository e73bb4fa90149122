/**
 * The door of this room: one drive of one run's code, against the one who holds its log. Nothing here reads, writes or waits by
 * itself: the host commits (`lib/ports/programs.ts`), the clock is given. Whoever runs it (a thread with the author's code)
 *
 * - passes what the author's module exports as `workflows`, as it is;
 * - hands over each `overtake`, `cancel` and turn in the order in which they came: a turn says how many histories the drive knew
 *   of when it was made (`Turn.heard`), so that the host can tell one that is too late;
 * - gives `notePrinted` (`printed.ts`) what the thread's output is given, synchronously: lines of steps are found by it;
 * - watches over the thread: an endless loop, `process.exit` and rejections that nobody handles are not seen from in here.
 */
import type { History } from '../engine/durable/turn.ts';
import { replayVersion } from '../engine/durable/replay-version.ts';
import type { JsonValue } from '../engine/json.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import type { Drive, DriveEnd, DriveHost, DriveTask } from '../ports/programs.ts';
import { Bell } from './bell.ts';
import { Bodies } from './bodies.ts';
import type { ProgramClock } from './clock.ts';
import { driveCode } from './drive-code.ts';
import { failureOf } from './failures.ts';
import { findWorkflow } from './find-workflow.ts';
import type { Going, News } from './going.ts';
import type { Print } from './program-log.ts';

export interface DriveSettings {
  readonly deploymentId: string;
  readonly clock: ProgramClock;
  /** where the author's logger writes; absent: to the console of whoever runs this */
  readonly print?: Print;
  /** how long code that awaits something that is no step may take; absent: 30 s */
  readonly stallMs?: DurationMs;
}

const defaultStallMs = seconds(30);

/** Never throws, and `ended` never rejects. */
export function beginDrive(workflows: unknown, task: DriveTask, host: DriveHost, settings: DriveSettings): Drive {
  const { clock, deploymentId, print = toConsole, stallMs = defaultStallMs } = settings;
  const news: News = { heard: 0, isKilled: false, isToHandOn: false };
  const bell = new Bell();
  const bodies = new Bodies(clock, task.run.runId, () => bell.ring());
  const { promise: ended, resolve } = Promise.withResolvers<DriveEnd>();
  const shared = { task, host, deploymentId, clock, bell, bodies, news, print, stallMs };
  driven(workflows, shared).then(resolve, (error: unknown) => {
    const running = bodies.running;
    bodies.stopAll('the drive is over');
    resolve({ kind: 'crashed', message: failureOf(error).message, running });
  });
  return {
    ended,
    overtake: (history: History<JsonValue>) => {
      news.heard += 1;
      news.history = history;
      bell.ring();
    },
    cancel: (reason) => {
      news.cancelled = reason;
      bodies.stopAll(reason);
      bell.ring();
    },
    handOn: () => {
      news.isToHandOn = true;
      bell.ring();
    },
    kill: async (message) => {
      resolve({ kind: 'timed_out', message, running: bodies.running });
      news.isKilled = true;
      bodies.stopAll(message);
      bell.ring();
      await ended;
    },
  };
}

async function driven(workflows: unknown, shared: Omit<Going, 'workflow'>): Promise<DriveEnd> {
  const { task } = shared;
  if (task.replayVersion > replayVersion)
    return {
      kind: 'unloadable',
      message: `this run is replayed as of version ${task.replayVersion}, and here ${replayVersion} is the last`,
    };
  const found = findWorkflow(workflows, task.run);
  return found.kind === 'found' ? driveCode({ ...shared, workflow: found.workflow }) : found;
}

// oxlint-disable-next-line no-console -- what the author's code says goes where what it prints goes
const toConsole: Print = (level, line) => console[level](line);
