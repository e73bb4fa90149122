/** What the fold keeps of an attempt since it was asked for. */
import { type Attempt, type EventId, type NodeRef } from '../ids.ts';
import type { Dispatched, NodeState, OpenNode } from './node-state.ts';
import { type Stamp, running } from './run-state.ts';

export const dispatched = (
  ref: NodeRef,
  attempt: Attempt,
  via: Dispatched['via'],
  wave: number,
  id: EventId,
  stamp: Stamp,
): Dispatched => ({
  ...ref,
  attempt,
  via,
  wave,
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
  pinnedAt: id,
});

export const base = ({ nodeId, iteration, attempt, via, wave, dispatchedIn, dispatchedAt, pinnedAt }: OpenNode): Dispatched => ({
  nodeId,
  iteration,
  attempt,
  via,
  wave,
  dispatchedIn,
  dispatchedAt,
  pinnedAt,
});

/** A node that begins to wait: from here on the commit that says so is what its timer names. */
export const parked = (before: NodeState | undefined, ref: NodeRef, attempt: Attempt, id: EventId, stamp: Stamp): Dispatched => ({
  ...(before === undefined ? dispatched(ref, attempt, 'inline', 0, id, stamp) : base(running(before, attempt, ref))),
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
});
