/** The part of a node's state that the fold keeps from the dispatch of an attempt. */
import { defined } from '../../base/defined.ts';
import type { StepInfo } from '../durable/step.ts';
import { type Attempt, type EventId, type NodeRef } from '../ids.ts';
import type { DispatchRecord, NodeState, OpenNode } from './node-state.ts';
import { type Stamp, requireOpenNode } from './run-state.ts';

export const dispatchRecord = (
  ref: NodeRef,
  attempt: Attempt,
  via: DispatchRecord['via'],
  wave: number,
  id: EventId,
  stamp: Stamp,
  step?: StepInfo,
): DispatchRecord =>
  defined({
    ...ref,
    attempt,
    via,
    wave,
    dispatchedIn: stamp.commit,
    dispatchedAt: stamp.at,
    pinnedAt: id,
    step,
  });

export const dispatchRecordOf = (open: OpenNode): DispatchRecord => {
  const { nodeId, iteration, attempt, via, wave, dispatchedIn, dispatchedAt, pinnedAt, step, lostAttempts } = open;
  return defined({
    nodeId,
    iteration,
    attempt,
    via,
    wave,
    dispatchedIn,
    dispatchedAt,
    pinnedAt,
    step,
    lostAttempts,
  });
};

/** Record of a node that begins to wait. Its timer names the commit that recorded the wait. */
export const waitRecordOf = (
  before: NodeState | undefined,
  ref: NodeRef,
  { attempt, step }: { readonly attempt: Attempt; readonly step?: StepInfo },
  id: EventId,
  stamp: Stamp,
): DispatchRecord => ({
  ...(before === undefined
    ? dispatchRecord(ref, attempt, 'inline', 0, id, stamp, step)
    : dispatchRecordOf(requireOpenNode(before, attempt, ref))),
  dispatchedIn: stamp.commit,
  dispatchedAt: stamp.at,
});
