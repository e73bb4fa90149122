/** The nodes that sleep. A node that is queued for later is none: its wait is a retry's policy or the start's own wish. */
import type { NodeId } from '../ids.ts';
import type { RunState } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';

export type Sleeper = Extract<OpenNode, { status: 'waiting' }>;

/** Those of the ids that sleep, or all that do where no ids are given. */
export const sleepersOf = (state: RunState, nodeIds?: readonly NodeId[]): readonly Sleeper[] =>
  [...state.open.keys()].flatMap((key) => {
    const node = state.nodes.get(key);
    return node?.status === 'waiting' && (nodeIds === undefined || nodeIds.includes(node.nodeId)) ? [node] : [];
  });
