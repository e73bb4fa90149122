/**
 * How many workers one project and one workflow may occupy. A FIFO queue has at most one message of a group in flight, so the number of
 * groups over which a project's messages are spread limits its workers. (docs/decisions/fair-shares.md)
 */
import { fnv, unitsOf } from '../base/fnv.ts';
import { type NodeRef, type RunId, type WorkflowName, nodeKey } from './ids.ts';
import { type DurationMs, durationMs } from './time.ts';

/**
 * CPU time of a script before it continues in the slow lane. Twenty endless loops that arrive together occupy four workers for half a
 * second; almost all scripts need less.
 */
export const firstTimeSlice: DurationMs = durationMs(100);

/** The time slice of a script that recently exceeded its first one in the same process: it probably exceeds it again. */
export const repeatTimeSlice: DurationMs = durationMs(20);

/** Message groups per project. */
export interface FairShares {
  /** for scripts that exceeded their first slice */
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

/** A script exceeded its first slice. It had no effect and has no outcome; its attempt starts again in the slow lane. */
export class TimeSliceExceeded extends Error {
  override readonly name = 'TimeSliceExceeded';

  constructor() {
    super('the script did not end within its first time slice');
  }
}
