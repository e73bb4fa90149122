/**
 * How many workers one project and one workflow may occupy. A FIFO queue has at most one message of a group in flight, so the number of
 * groups over which a project's messages are spread limits its workers. (docs/decisions/fair-shares.md)
 */
import { fnv, unitsOf } from '../base/fnv.ts';
import { type NodeRef, type RunId, type WorkflowName, nodeKey } from './ids.ts';
import { type DurationMs, durationMs } from './time.ts';

/**
 * The time slice of a node of which the process knows nothing. Four workers that each meet an endless script give it 200 ms of CPU time
 * together. Almost all scripts need less.
 */
export const firstTimeSlice: DurationMs = durationMs(50);

/** The time slice of a node whose last scripts ended within this time: CPU time that a script may use outside the slow lane. */
export const provenTimeSlice: DurationMs = durationMs(100);

/** The time slice of a node whose scripts exceeded a slice of 50 ms or less: they probably exceed it again. */
export const repeatTimeSlice: DurationMs = durationMs(10);

/** How an attempt with scripts ended, in either lane. */
export type ScriptsEnd =
  | 'slice_spent'
  /** CPU time of the attempt's scripts; absent: unknown, or it ran none */
  | { readonly cpuMs?: number };

/**
 * The time slice of a node's next attempt, from what the process has seen of it.
 *
 * - An end within `provenTimeSlice` proves the node, also in the slow lane and also as a failure.
 * - A slow attempt of a proven node makes it unknown again, so that an outlier does not send the next script of up to 50 ms to the slow lane.
 * - A longer end teaches nothing, because the process that gave the slice has counted the overrun already.
 *
 * @param slice that the next attempt would have got without this end
 */
export function timeSliceAfter(slice: DurationMs, end: ScriptsEnd): DurationMs {
  if (end === 'slice_spent') return slice === provenTimeSlice ? firstTimeSlice : repeatTimeSlice;
  return end.cpuMs !== undefined && end.cpuMs <= provenTimeSlice ? provenTimeSlice : slice;
}

/** Message groups per project. */
export interface FairShares {
  /** for scripts that exceeded their time slice */
  readonly slow: number;
  /** for all other node jobs; absent: each node of each run has its own group, and projects are not limited */
  readonly regular?: number;
}

/**
 * @param workers that process the node queue concurrently
 * @param maxPercent of them that one project may occupy; 100: only the slow lane is limited
 */
export function fairSharesOf(workers: number, maxPercent: number): FairShares {
  if (maxPercent >= 100) return { slow: half(workers) };
  // At least two: with one group, a slow script would block the whole project.
  const maxGroups = Math.max(2, Math.floor((workers * maxPercent) / 100));
  return { slow: half(maxGroups), regular: maxGroups - half(maxGroups) };
}

/** The group of a job in the slow lane. A workflow uses half of its project's groups. */
export function slowLaneGroup(
  { slow }: FairShares,
  workflow: WorkflowName,
  { runId, node, resend }: { readonly runId: RunId; readonly node: NodeRef; readonly resend: number },
): number {
  // A resent job goes to another group if its workflow has several, because the first may be blocked.
  return (hash(workflow) + ((hash(runId, nodeKey(node)) + resend) % half(slow))) % slow;
}

/** The group of a job outside the slow lane, for a project with limited groups. */
export const regularLaneGroup = (
  groups: number,
  { runId, node, resend }: { readonly runId: RunId; readonly node: NodeRef; readonly resend: number },
): number => (hash(runId, nodeKey(node)) + resend) % groups;

const half = (count: number): number => Math.max(1, Math.floor(count / 2));

const hash = (...parts: readonly string[]): number => fnv(unitsOf(parts.join('#')));

/** A script exceeded its time slice. It had no effect and has no outcome; its attempt starts again in the slow lane. */
export class TimeSliceExceeded extends Error {
  override readonly name = 'TimeSliceExceeded';

  constructor() {
    super('the script did not end within its time slice');
  }
}
