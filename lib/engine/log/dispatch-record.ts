/** What the fold keeps of an attempt since it was asked for. */
import { defined } from '../defined.ts';
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

/** A node that begins to wait: from here on the commit that says so is what its timer names. */
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
