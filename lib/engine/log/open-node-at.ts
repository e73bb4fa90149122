/** Whether an attempt is still current: the node of a job, a result or a command batch may have ended or be at another attempt. */
import { type Attempt, type NodeRef, nodeKey } from '../ids.ts';
import type { RunState } from './fold.ts';
import { type OpenNode, isOpen } from './node-state.ts';

/** The node, if it is open and at this attempt. */
export function openNodeAt({ nodes }: Pick<RunState, 'nodes'>, ref: NodeRef, attempt: Attempt): OpenNode | undefined {
  const node = nodes.get(nodeKey(ref));
  return node !== undefined && isOpen(node) && node.attempt === attempt ? node : undefined;
}
