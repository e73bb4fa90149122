/** A decision about a code run under way: the state as it would be, and the events that make it so. */
import { type NodeRef, commitNo, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { inline } from '../json.ts';
import type { Ending, Failure, RunEvent } from '../log/events.ts';
import { type RunState, applyEvent, fork, isTerminal, openNodes } from '../log/fold.ts';
import { type NodeState, type OpenNode } from '../log/node-state.ts';
import { wantedNode } from '../log/wanted-node.ts';
import type { Attempt } from '../ids.ts';
import type { Instant } from '../time.ts';
import type { CodeTools } from './facts.ts';
import { driveNodeId } from './step.ts';

export interface Draft {
  readonly state: RunState;
  readonly events: RunEvent[];
  readonly tools: CodeTools;
}

export const openDraft = (state: RunState, tools: CodeTools): Draft => ({ state: fork(state), events: [], tools });

export function emit({ state, events, tools }: Draft, event: RunEvent): void {
  applyEvent(state, event, { commit: commitNo(state.asOf + 1), at: tools.now });
  events.push(event);
}

export const hasEnded = ({ state }: Draft): boolean => isTerminal(state.progress);

export const nodeOf = ({ state }: Draft, ref: NodeRef): NodeState | undefined => state.nodes.get(nodeKey(ref));

/** The node, where it is open and at this attempt. */
export const wanted = ({ state }: Draft, ref: NodeRef, attempt: Attempt): OpenNode | undefined => wantedNode(state, ref, attempt);

/** The first sign of work makes the run a running one. */
export function run(draft: Draft): void {
  if (draft.state.progress.status === 'pending') emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'running' });
}

export function dispatchDrive(draft: Draft, notBefore?: Instant): void {
  const key = String((draft.state.code?.drives ?? 0) + 1);
  emit(draft, {
    type: 'NODE_DISPATCHED',
    nodeId: driveNodeId(Number(key)),
    iteration: topLevel,
    attempt: firstAttempt,
    via: 'queue',
    wave: 0,
    step: { kind: 'drive', key },
    ...(notBefore === undefined || notBefore <= draft.tools.now ? {} : { notBefore }),
  });
}

const drivesOf = (draft: Draft): readonly OpenNode[] => openNodes(draft.state).filter(({ step }) => step?.kind === 'drive');

const dueAt = (drive: OpenNode): Instant | undefined => (drive.status === 'queued' ? drive.notBefore : undefined);

/** Somebody is to drive the run by then, at the latest. One that was put off stays so: what it waits for is none of the run's. */
export function askForDrive(draft: Draft, at: Instant = draft.tools.now): void {
  const isAsked = drivesOf(draft).some((drive) => drive.attempt > firstAttempt || (dueAt(drive) ?? at) <= at);
  if (!isAsked) dispatchDrive(draft, at);
}

/** Somebody outside wants it driven now: also where it was put off. */
export function askForDriveAtOnce(draft: Draft): void {
  const { now } = draft.tools;
  if (!drivesOf(draft).some((drive) => (dueAt(drive) ?? now) <= now)) dispatchDrive(draft);
}

export function endDrive(draft: Draft, drive: OpenNode, times: { readonly startedAt: Instant; readonly endedAt: Instant }): void {
  const { nodeId, iteration, attempt } = drive;
  const { startedAt, endedAt } = times;
  emit(draft, { type: 'NODE_COMPLETED', nodeId, iteration, attempt, output: inline(null), handle: null, startedAt, endedAt });
}

export function endAs(draft: Draft, ending: Ending): void {
  invariant(!hasEnded(draft), 'a run ends once');
  if (ending.status === 'cancelled') {
    emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'cancelled' });
    return emit(draft, { type: 'RUN_CANCELLED', ...(ending.reason === undefined ? {} : { reason: ending.reason }) });
  }
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: ending.status === 'timed_out' ? 'RUN_TIMED_OUT' : 'RUN_FAILED', error: ending.error });
}

export const failedWith = (error: Failure): Ending =>
  error.cause === 'deadline' ? { status: 'timed_out', error } : { status: 'failed', error };
