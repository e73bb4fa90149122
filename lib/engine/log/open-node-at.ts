/** Whether an attempt is still asked for: what a job, a result or a turn is about may have ended, or be at another attempt, by now. */
import { type Attempt, type NodeRef, nodeKey } from '../ids.ts';
import type { RunState } from './fold.ts';
import { type OpenNode, isOpen } from './node-state.ts';

/** The node, where it is open and at this attempt. */
export function openNodeAt({ nodes }: Pick<RunState, 'nodes'>, ref: NodeRef, attempt: Attempt): OpenNode | undefined {
  const node = nodes.get(nodeKey(ref));
  return node !== undefined && isOpen(node) && node.attempt === attempt ? node : undefined;
}
