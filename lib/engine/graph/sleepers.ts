/** Nodes that sleep, and nodes that await a signal. A queued node with a later start is not sleeping: a retry or the run's start delays it. */
import type { NodeId } from '../ids.ts';
import { type RunState, openNodes } from '../log/fold.ts';
import type { SignalWait, WaitingNode } from '../log/node-state.ts';

export type Sleeper = Extract<WaitingNode, { for: 'time' }>;

/** The sleeping nodes among these ids, or all of them without ids. A wake request does not end a wait for a signal. */
export const sleepersOf = (state: RunState, nodeIds?: readonly NodeId[]): readonly Sleeper[] =>
  waitingIn(state).flatMap((node) =>
    node.for === 'time' && (nodeIds === undefined || nodeIds.includes(node.nodeId)) ? [node] : [],
  );

export const signalWaitsOf = (state: RunState): readonly SignalWait[] =>
  waitingIn(state).flatMap((node) => (node.for === 'signal' ? [node] : []));

const waitingIn = (state: RunState): readonly WaitingNode[] => openNodes(state).filter((node) => node.status === 'waiting');
