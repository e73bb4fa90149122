/** What the fold keeps of an attempt since it was asked for. */
import type { StepMark } from '../durable/step.ts';
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
  step?: StepMark,
): Dispatched => ({
  ...ref,
  attempt,
  via,
  wave,
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
  pinnedAt: id,
  ...(step === undefined ? {} : { step }),
});

export const base = (open: OpenNode): Dispatched => {
  const { nodeId, iteration, attempt, via, wave, dispatchedIn, dispatchedAt, pinnedAt, step, lost } = open;
  return {
    nodeId,
    iteration,
    attempt,
    via,
    wave,
    dispatchedIn,
    dispatchedAt,
    pinnedAt,
    ...(step === undefined ? {} : { step }),
    ...(lost === undefined ? {} : { lost }),
  };
};

/** A node that begins to wait: from here on the commit that says so is what its timer names. */
export const parked = (
  before: NodeState | undefined,
  ref: NodeRef,
  { attempt, step }: { readonly attempt: Attempt; readonly step?: StepMark },
  id: EventId,
  stamp: Stamp,
): Dispatched => ({
  ...(before === undefined ? dispatched(ref, attempt, 'inline', 0, id, stamp, step) : base(running(before, attempt, ref))),
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
});
