/** State that all replays of one workflow task share. */
import type { History, CommandBatch } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';
import type { DurationMs } from '../engine/time.ts';
import type { WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../ports/programs.ts';
import type { WakeUp, ProgramClock } from './clock.ts';
import type { StepFunctions } from './step-functions.ts';
import type { StackMapper } from './failures.ts';
import type { ProgramWorkflow } from './find-workflow.ts';
import type { Print } from './printed.ts';

export interface ExecutionContext {
  readonly task: WorkflowTask;
  readonly host: WorkflowTaskHost;
  readonly workflow: ProgramWorkflow;
  readonly deploymentId: string;
  readonly clock: ProgramClock;
  readonly mapStack?: StackMapper;
  readonly wakeUp: WakeUp;
  readonly stepFunctions: StepFunctions;
  readonly interrupts: Interrupts;
  readonly print: Print;
  /** how long the code may take to request its next step while no step runs */
  readonly stallTimeoutMs: DurationMs;
}

/** Requests from outside that the workflow task has not handled yet. */
export interface Interrupts {
  history?: History<JsonValue>;
  /** number of histories received; the host rejects a batch that was made before its latest history */
  historiesReceived: number;
  cancelled?: string;
  isKilled: boolean;
  /** the host asks for a hand-off before `handOffAt` */
  isHandOffRequested: boolean;
}

export type ExitReason =
  /** replay the code from its start, with this history */
  | { readonly kind: 'restart'; readonly history: History<JsonValue> }
  | { readonly kind: 'end'; readonly end: WorkflowTaskEnd }
  /** it was cancelled or killed */
  | { readonly kind: 'aborted' };

export const taskFinished: ExitReason = { kind: 'end', end: { kind: 'finished' } };
export const aborted: ExitReason = { kind: 'aborted' };

export type CommitResult = { readonly kind: 'committed'; readonly run: 'open' | 'rolling_back' | 'ended' } | ExitReason;

/** Commits a batch. A batch that predates a newer history is dropped, and the code is replayed. */
export async function commitBatch(
  { host, interrupts }: ExecutionContext,
  batch: Omit<CommandBatch, 'historiesReceived'>,
): Promise<CommitResult> {
  if (interrupts.isKilled) return aborted;
  if (interrupts.history !== undefined) return restartWith(interrupts, interrupts.history);
  const result = await host.commitBatch({ ...batch, historiesReceived: interrupts.historiesReceived });
  if (interrupts.isKilled || result.kind === 'stop') return taskFinished;
  if (result.kind === 'committed') return { kind: 'committed', run: result.run };
  return restartWith(interrupts, newerHistory(result.history, interrupts.history));
}

export function restartWith(interrupts: Interrupts, history: History<JsonValue>): ExitReason {
  delete interrupts.history;
  return { kind: 'restart', history };
}

/** A log only grows, so the longer history is the newer one. */
function newerHistory(one: History<JsonValue>, other: History<JsonValue> | undefined): History<JsonValue> {
  if (other === undefined || other.attempt < one.attempt) return one;
  if (other.attempt > one.attempt || other.entries.length > one.entries.length) return other;
  return other.runOutcome !== undefined && other.entries.length === one.entries.length ? other : one;
}

/** No step function starts any more. */
export const isHandingOff = ({ clock, task, interrupts }: Pick<ExecutionContext, 'clock' | 'task' | 'interrupts'>): boolean =>
  interrupts.isHandOffRequested || clock.now() >= task.handOffAt;

/** The work in progress is discarded. */
export const isAborting = ({ isKilled, cancelled }: Interrupts): boolean => isKilled || cancelled !== undefined;
