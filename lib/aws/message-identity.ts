/** What parts and what marks a message on a FIFO queue. */
import { createHash } from 'node:crypto';
import { isStepMessage } from '../engine/bundle/message.ts';
import { type NodeRef, type RunAddress, nodeKey } from '../engine/ids.ts';
import { type FairShares, regularLaneGroup } from '../engine/fair-shares.ts';
import type { WorkflowTaskJob, MessageJob, NodeJob, ResultMessage } from '../ports/jobs.ts';

export interface MessageIdentity {
  /** messages of one group are taken one after the other; a dead one locks its group for the visibility time */
  readonly group: string;
  /** the same id within five minutes is the same message */
  readonly deduplication: string;
}

/** The longest group and deduplication id that SQS takes. */
const maxIdLength = 128;

const digest = (...parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

const attemptParts = (of: NodeRef & { run: RunAddress; attempt: number }): readonly unknown[] => {
  const { projectId, environment, runId } = of.run;
  return [projectId, environment, runId, of.nodeId, of.iteration, of.attempt];
};

/**
 * A node's jobs follow each other; a job sent again goes past the one that may be dead. In the slow lane, and where the installation bounds
 * what one project may take, jobs of several nodes follow each other: the groups of a project are its share of the workers.
 */
export const nodeJobIdentity = (job: NodeJob, shares?: FairShares): MessageIdentity => {
  if (job.slowLane !== undefined)
    return {
      group: groupOfProject(job.run, 'slow', job.slowLane),
      // Not that of its first slice: where a queue parts messages by this id alone, the second would be the first.
      deduplication: digest('node', ...attemptParts(job), job.resend, 'slow'),
    };
  return { group: groupOf(job, shares), deduplication: digest('node', ...attemptParts(job), job.resend) };
};

function groupOf(job: NodeJob, shares: FairShares | undefined): string {
  const { run, resend } = job;
  if (shares?.regular !== undefined)
    return groupOfProject(run, 'first', regularLaneGroup(shares.regular, { runId: run.runId, node: job, resend }));
  const suffix = resend === 0 ? '' : `#r${resend}`;
  const group = `${run.runId}#${nodeKey(job)}${suffix}`;
  // Deep iterations make long names; their digest parts them just as well.
  return group.length <= maxIdLength ? group : `${run.runId}#${digest(nodeKey(job))}${suffix}`;
}

/** 64 + 32 characters at most, and a few more. */
const groupOfProject = ({ projectId, environment }: RunAddress, kind: 'first' | 'slow', lane: number): string =>
  `${projectId}#${environment}#${kind}#${lane}`;

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
export const workflowTaskJobIdentity = (job: WorkflowTaskJob): MessageIdentity => ({
  group: `${job.run.runId}${job.resend === 0 ? '' : `#r${job.resend}`}`,
  deduplication: digest('workflow_task', ...attemptParts(job), job.resend),
});

/** A run's results follow each other, so that one collector decides for many at once. */
export const resultIdentity = (result: ResultMessage): MessageIdentity => ({
  group: result.run.runId,
  // The attempt that calls a run may have told that it does a moment before the run ended.
  deduplication: digest('childRunId' in result ? 'child' : 'result', ...attemptParts(result)),
});
