/** What parts and what marks a message on a FIFO queue. */
import { createHash } from 'node:crypto';
import { isStepMessage } from '../engine/fetch/message.ts';
import { type NodeRef, type RunAddress, nodeKey } from '../engine/ids.ts';
import type { DriveJob, MessageJob, NodeJob, ResultMessage } from '../ports/jobs.ts';

export interface MessageIdentity {
  /** messages of one group are taken one after the other; a dead one locks its group for the visibility time */
  readonly group: string;
  /** the same id within five minutes is the same message */
  readonly deduplication: string;
}

/** The longest group and deduplication id that SQS takes. */
const longestId = 128;

const digest = (...parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

const attemptParts = (of: NodeRef & { run: RunAddress; attempt: number }): readonly unknown[] => {
  const { projectId, environment, runId } = of.run;
  return [projectId, environment, runId, of.nodeId, of.iteration, of.attempt];
};

/** A node's jobs follow each other; a job sent again goes past the one that may be dead. */
export const nodeJobIdentity = (job: NodeJob): MessageIdentity => {
  const resend = job.resend === 0 ? '' : `#r${job.resend}`;
  const group = `${job.run.runId}#${nodeKey(job)}${resend}`;
  return {
    // Deep iterations make long names; their digest parts them just as well.
    group: group.length <= longestId ? group : `${job.run.runId}#${digest(nodeKey(job))}${resend}`,
    deduplication: digest('node', ...attemptParts(job), job.resend),
  };
};

/** The messages to a run's workflow follow each other, and each to a step goes by itself; one sent again goes past what may be dead. */
export const messageJobIdentity = (job: MessageJob): MessageIdentity => {
  const resend = job.resend === 0 ? '' : `#r${job.resend}`;
  const lane = isStepMessage(job.nodeId) ? `#${digest(nodeKey(job))}` : '';
  return {
    group: `${job.run.runId}${lane}${resend}`,
    deduplication: digest('message', ...attemptParts(job), job.resend),
  };
};

/** One drive of a run at a time, as far as a queue can see to it; one sent again goes past what may be dead. */
export const driveJobIdentity = (job: DriveJob): MessageIdentity => ({
  group: `${job.run.runId}${job.resend === 0 ? '' : `#r${job.resend}`}`,
  deduplication: digest('drive', ...attemptParts(job), job.resend),
});

/** A run's results follow each other, so that one collector decides for many at once. */
export const resultIdentity = (result: ResultMessage): MessageIdentity => ({
  group: result.run.runId,
  // The attempt that calls a run may have told that it does a moment before the run ended.
  deduplication: digest('childRunId' in result ? 'child' : 'result', ...attemptParts(result)),
});
