/** Which edges of a graph a run has taken. */
import type { RunNode } from '../api.ts';

type Reached = Pick<RunNode, 'status' | 'iterations'>;

const unreached: readonly string[] = ['pending', 'skipped', 'cancelled'];
const failures: readonly string[] = ['failed', 'timed_out', 'blocked', 'invalidated'];

/** Whether the run went along the edge: its source ended by this handle, and its target was reached. */
export function wasTaken(source: Reached | undefined, target: Reached | undefined, handle: string | undefined): boolean {
  if (source === undefined || target === undefined || unreached.includes(target.status)) return false;
  if (handle === 'error') return failures.includes(source.status);
  return source.status === 'completed' || (source.iterations !== undefined && handle === 'loop');
}
