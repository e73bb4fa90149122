/** Builds the messages that follow from commits and states. First sends and resends use the same functions. */
import { defined } from '../../base/defined.ts';
import { type CommitNo, type RunId, workflowName } from '../../engine/ids.ts';
import type { Admission } from '../../engine/log/fold.ts';
import type { Head } from '../../engine/log/head.ts';
import type { ChildJob, ChildResult, NodeJob, SlotJob, WakeJob } from '../../ports/jobs.ts';
import type { AttemptRef } from '../run-kind.ts';

/** The run that sends a message, and the trace of the request that caused it. */
export type JobOrigin = Pick<Head, 'address' | 'trace'>;

/** The fields that every message takes from its run. */
export const originFields = ({ address, trace }: JobOrigin) => defined({ run: address, trace });

/** @param resend 0 for the first send; part of the deduplication id */
export const nodeJob = (
  origin: JobOrigin,
  commit: CommitNo,
  { nodeId, iteration, attempt }: AttemptRef,
  resend = 0,
): NodeJob => ({
  kind: 'node',
  ...originFields(origin),
  commit,
  nodeId,
  iteration,
  attempt,
  resend,
});

/** @param resend absent for the first send */
export const wakeJob = (
  origin: JobOrigin,
  commit: CommitNo,
  { nodeId, iteration, attempt }: AttemptRef,
  resend?: number,
): WakeJob =>
  defined({
    kind: 'wake',
    ...originFields(origin),
    commit,
    nodeId,
    iteration,
    attempt,
    resend,
  });

/** @param origin the calling run */
export const childJob = (origin: JobOrigin, { nodeId, iteration, attempt }: AttemptRef, childRunId: RunId): ChildJob => ({
  kind: 'child',
  ...originFields(origin),
  nodeId,
  iteration,
  attempt,
  childRunId,
});

/** @param commit the caller's commit that called the child run */
export const childResult = (origin: JobOrigin, commit: CommitNo, attemptRef: AttemptRef, childRunId: RunId): ChildResult => {
  const { kind: _kind, ...fields } = childJob(origin, attemptRef, childRunId);
  return { ...fields, commit };
};

export const slotJob = (origin: Pick<Head, 'address' | 'trace' | 'workflow'>, { since }: Admission): SlotJob => ({
  kind: 'slot',
  ...originFields(origin),
  workflowName: workflowName(origin.workflow.name),
  since,
});
