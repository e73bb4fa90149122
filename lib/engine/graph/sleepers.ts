/** The nodes that sleep. A node that is queued for later is none: its wait is a retry's policy or the start's own wish. */
import type { NodeId } from '../ids.ts';
import { type RunState, openNodes } from '../log/fold.ts';
import type { SignalWait, WaitingNode } from '../log/node-state.ts';

export type Sleeper = Extract<WaitingNode, { for: 'time' }>;

/** Those of the ids that sleep, or all that do where no ids are given. Waking is no signal: a wait for one goes on. */
export const sleepersOf = (state: RunState, nodeIds?: readonly NodeId[]): readonly Sleeper[] =>
  waitingIn(state).flatMap((node) =>
    node.for === 'time' && (nodeIds === undefined || nodeIds.includes(node.nodeId)) ? [node] : [],
  );

/** The nodes that await a signal. */
export const signalWaitsOf = (state: RunState): readonly SignalWait[] =>
  waitingIn(state).flatMap((node) => (node.for === 'signal' ? [node] : []));

const waitingIn = (state: RunState): readonly WaitingNode[] => openNodes(state).filter((node) => node.status === 'waiting');
