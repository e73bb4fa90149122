/** The messages that commits and states ask for, spelled once for first sends and re-sends alike. */
import type { CommitNo, NodeRef, RunAddress } from '../engine/ids.ts';
import type { Attempt } from '../engine/ids.ts';
import type { NodeJob, WakeJob } from '../ports/jobs.ts';

interface Asked extends NodeRef {
  readonly attempt: Attempt;
}

/** @param resend 0 for the first send; part of the deduplication id */
export const nodeJob = (run: RunAddress, commit: CommitNo, { nodeId, iteration, attempt }: Asked, resend = 0): NodeJob => ({
  kind: 'node',
  run,
  commit,
  nodeId,
  iteration,
  attempt,
  resend,
});

export const wakeJob = (run: RunAddress, commit: CommitNo, { nodeId, iteration, attempt }: Asked): WakeJob => ({
  kind: 'wake',
  run,
  commit,
  nodeId,
  iteration,
  attempt,
});
