/** The messages that commits and states ask for, spelled once for first sends and re-sends alike. */
import { type CommitNo, type NodeRef, type RunId, workflowName } from '../engine/ids.ts';
import type { Attempt } from '../engine/ids.ts';
import type { Admission } from '../engine/log/fold.ts';
import { type Head, creationOf } from '../engine/log/head.ts';
import type { ChildJob, ChildResult, NodeJob, PlaceJob, WakeJob, WorkJob } from '../ports/jobs.ts';

/** The run that asks, and the request that it goes back to. */
export type Asking = Pick<Head, 'address' | 'trace'>;

/** What every message says of its run. */
export const ofRun = ({ address, trace }: Asking) => ({ run: address, ...(trace === undefined ? {} : { trace }) });

interface Asked extends NodeRef {
  readonly attempt: Attempt;
}

/** @param resend 0 for the first send; part of the deduplication id */
export const nodeJob = (asking: Asking, commit: CommitNo, { nodeId, iteration, attempt }: Asked, resend = 0): NodeJob => ({
  kind: 'node',
  ...ofRun(asking),
  commit,
  nodeId,
  iteration,
  attempt,
  resend,
});

/** An open node of a graph run is worked on by a worker, one of a fetch run is a message for its code, and one of a code run drives it. */
export const workJob = (head: Head, commit: CommitNo, asked: Asked, resend = 0): WorkJob => {
  const job = nodeJob(head, commit, asked, resend);
  switch (head.kind) {
    case 'graph':
      return job;
    case 'fetch':
      return { ...job, kind: 'message', creation: creationOf(head) };
    case 'code':
      return { ...job, kind: 'drive', creation: creationOf(head) };
  }
};

/** @param resend absent for the first send */
export const wakeJob = (asking: Asking, commit: CommitNo, { nodeId, iteration, attempt }: Asked, resend?: number): WakeJob => ({
  kind: 'wake',
  ...ofRun(asking),
  commit,
  nodeId,
  iteration,
  attempt,
  ...(resend === undefined ? {} : { resend }),
});

/** @param asking the run that called */
export const childJob = (asking: Asking, { nodeId, iteration, attempt }: Asked, childRunId: RunId): ChildJob => ({
  kind: 'child',
  ...ofRun(asking),
  nodeId,
  iteration,
  attempt,
  childRunId,
});

/** @param commit the one that called it */
export const childResult = (asking: Asking, commit: CommitNo, asked: Asked, childRunId: RunId): ChildResult => {
  const { kind: _kind, ...of } = childJob(asking, asked, childRunId);
  return { ...of, commit };
};

export const placeJob = (asking: Pick<Head, 'address' | 'trace' | 'workflow'>, { since }: Admission): PlaceJob => ({
  kind: 'place',
  ...ofRun(asking),
  workflowName: workflowName(asking.workflow.name),
  since,
});
