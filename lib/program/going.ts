/** What belongs to one drive from its beginning to its end, however often the code is begun anew. */
import type { History, Turn } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import type { DurationMs } from '../engine/time.ts';
import type { DriveEnd, DriveHost, DriveTask } from '../ports/programs.ts';
import type { Bell } from './bell.ts';
import type { Bodies } from './bodies.ts';
import type { ProgramClock } from './clock.ts';
import type { ProgramWorkflow } from './find-workflow.ts';
import type { Print } from './program-log.ts';

export interface Going {
  readonly task: DriveTask;
  readonly host: DriveHost;
  readonly workflow: ProgramWorkflow;
  readonly deploymentId: string;
  readonly clock: ProgramClock;
  readonly bell: Bell;
  readonly bodies: Bodies;
  readonly news: News;
  readonly print: Print;
  /** how long the code may take to ask for the step that it asked for before */
  readonly stallMs: DurationMs;
}

/** What others have said to the drive and it has not looked at yet. */
export interface News {
  history?: History<JsonValue>;
  /** how many histories it was told of */
  heard: number;
  cancelled?: string;
  isKilled: boolean;
  /** it is to hand on before its time */
  isToHandOn: boolean;
}

export type Leave =
  /** the code is begun anew, on this history */
  | { readonly kind: 'again'; readonly history: History<JsonValue> }
  | { readonly kind: 'end'; readonly end: DriveEnd }
  /** it was cancelled or killed */
  | { readonly kind: 'pressed' };

export const over: Leave = { kind: 'end', end: { kind: 'over' } };
export const pressed: Leave = { kind: 'pressed' };

export type Said = { readonly kind: 'committed'; readonly run: 'open' | 'rolling_back' | 'ended' } | Leave;

/** Has the turn committed. One that was made before the drive knew what others have done is not even asked for. */
export async function say({ host, news }: Going, turn: Omit<Turn, 'heard'>): Promise<Said> {
  if (news.isKilled) return pressed;
  if (news.history !== undefined) return again(news, news.history);
  const answer = await host.turn({ ...turn, heard: news.heard });
  if (news.isKilled || answer.kind === 'stop') return over;
  if (answer.kind === 'committed') return { kind: 'committed', run: answer.run };
  return again(news, newer(answer.history, news.history));
}

export function again(news: News, history: History<JsonValue>): Leave {
  delete news.history;
  return { kind: 'again', history };
}

/** Of two, the one that tells more; a log only grows. */
function newer(one: History<JsonValue>, other: History<JsonValue> | undefined): History<JsonValue> {
  if (other === undefined || other.attempt < one.attempt) return one;
  if (other.attempt > one.attempt || other.entries.length > one.entries.length) return other;
  return other.ending !== undefined && other.entries.length === one.entries.length ? other : one;
}

/** No body begins any more. */
export const isClosing = ({ clock, task, news }: Pick<Going, 'clock' | 'task' | 'news'>): boolean =>
  news.isToHandOn || clock.now() >= task.handsOnAt;

/** Nothing of what the drive is at is of use any more. */
export const isPressing = ({ isKilled, cancelled }: News): boolean => isKilled || cancelled !== undefined;
