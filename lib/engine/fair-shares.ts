/**
 * How much of the workers one project and one workflow may take. A FIFO queue has one message of a group in flight, so the number of
 * groups that a project's messages are spread over bounds the workers that it holds. (docs/decisions/fair-shares.md)
 */
import { fnv, unitsOf } from './fnv.ts';
import { type NodeRef, type RunId, type WorkflowName, nodeKey } from './ids.ts';
import { type DurationMs, durationMs } from './time.ts';

/**
 * How long a script computes, by the processor's time, before it goes on in the slow lane. Twenty endless loops that arrive together hold four workers for
 * half a second with it; a script that takes less, as almost all do, never notices.
 */
export const firstTimeSlice: DurationMs = durationMs(100);

/** The same for a script that spent its first slice lately, in the same process: most of its runs will, and the others still end in it. */
export const repeatTimeSlice: DurationMs = durationMs(20);

/** Message groups per project. */
export interface FairShares {
  /** for scripts beyond their first slice */
  readonly slow: number;
  /** for all other node jobs; absent: each node of each run has a group of its own, and nothing bounds a project */
  readonly regular?: number;
}

/**
 * @param workers at work at once on the queue of node jobs
 * @param maxPercent of them that one project may take; 100: no bound but that of the slow lane
 */
export function fairSharesOf(workers: number, maxPercent: number): FairShares {
  if (maxPercent >= 100) return { slow: half(workers) };
  // Two at least: with one alone a slow script would hold up all that its project does.
  const maxGroups = Math.max(2, Math.floor((workers * maxPercent) / 100));
  return { slow: half(maxGroups), regular: maxGroups - half(maxGroups) };
}

/** Which of its project's groups a job of the slow lane belongs to: all those of one workflow are spread over half of them. */
export function slowLaneGroup(
  { slow }: FairShares,
  workflow: WorkflowName,
  { runId, node, resend }: { readonly runId: RunId; readonly node: NodeRef; readonly resend: number },
): number {
  // A job sent again goes past the one that may be dead, where its workflow has more than one group.
  return (hash(workflow) + ((hash(runId, nodeKey(node)) + resend) % half(slow))) % slow;
}

/** Which of its project's groups a job belongs to, where their number is bounded. */
export const regularLaneGroup = (
  groups: number,
  { runId, node, resend }: { readonly runId: RunId; readonly node: NodeRef; readonly resend: number },
): number => (hash(runId, nodeKey(node)) + resend) % groups;

const half = (count: number): number => Math.max(1, Math.floor(count / 2));

const hash = (...parts: readonly string[]): number => fnv(unitsOf(parts.join('#')));

/** A script took its first slice and has not ended: it had no effect and has no outcome, and its attempt begins again in the slow lane. */
export class TimeSliceExceeded extends Error {
  override readonly name = 'SliceSpent';

  constructor() {
    super('the script has not ended within its first slice');
  }
}
