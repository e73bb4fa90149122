/** Message groups and deduplication ids of messages on FIFO queues. */
import { createHash } from 'node:crypto';
import { isStepMessage } from '../engine/bundle/message.ts';
import { type FairShares, regularLaneGroup } from '../engine/fair-shares.ts';
import { type NodeRef, type RunAddress, nodeKey } from '../engine/ids.ts';
import type { DevKitJob, JobsTogether, WorkflowTaskJob, MessageJob, NodeJob, ResultMessage } from '../ports/jobs.ts';
import type { Watch } from '../ports/sockets.ts';
import { runPartition } from './run-keys.ts';

export interface MessageIdentity {
  /** SQS delivers the messages of a group one at a time; a crashed consumer blocks the group for the visibility timeout */
  readonly group: string;
  /** SQS drops a message with the same id within five minutes */
  readonly deduplication: string;
}

/** SQS's maximum length of group and deduplication ids. */
const maxIdLength = 128;

const digest = (...parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

const attemptParts = (source: NodeRef & { run: RunAddress; attempt: number }): readonly unknown[] => {
  const { projectId, environment, runId } = source.run;
  return [projectId, environment, runId, source.nodeId, source.iteration, source.attempt];
};

/**
 * Each node has a group. A redispatched job has another group, so that a crashed worker cannot block it. In the slow lane,
 * and if the installation limits the share of a project, several nodes share a group: the number of a project's groups is
 * its share of the workers.
 */
export const nodeJobIdentity = (job: NodeJob, shares?: FairShares): MessageIdentity => {
  if (job.slowLane !== undefined)
    return {
      group: groupOfProject(job.run, 'slow', job.slowLane),
      // Differs from the id of the job before it moved to the slow lane, because a queue may deduplicate across groups.
      deduplication: digest('node', ...attemptParts(job), job.resend, 'slow'),
    };
  return { group: groupOf(job, shares), deduplication: digest('node', ...attemptParts(job), job.resend) };
};

/** In the group of the first job. */
export const togetherIdentity = ({ jobs }: JobsTogether): MessageIdentity => ({
  group: groupOf(jobs[0], undefined),
  deduplication: digest('together', ...jobs.map((job) => [...attemptParts(job), job.resend])),
});

function groupOf(job: NodeJob, shares: FairShares | undefined): string {
  const { run, resend } = job;
  if (shares?.regular !== undefined)
    return groupOfProject(run, 'first', regularLaneGroup(shares.regular, { runId: run.runId, node: job, resend }));
  const suffix = resend === 0 ? '' : `#r${resend}`;
  const group = `${run.runId}#${nodeKey(job)}${suffix}`;
  // Nested iterations make long keys; a digest replaces them.
  return group.length <= maxIdLength ? group : `${run.runId}#${digest(nodeKey(job))}${suffix}`;
}

/** Within the maximum length: a project id has at most 64 characters, an environment at most 32. */
const groupOfProject = ({ projectId, environment }: RunAddress, kind: 'first' | 'slow', lane: number): string =>
  `${projectId}#${environment}#${kind}#${lane}`;

/** Workflow messages of a run share a group, each step message has its own. A redispatched message has another group. */
const messageJobIdentity = (job: MessageJob): MessageIdentity => {
  const resend = job.resend === 0 ? '' : `#r${job.resend}`;
  const lane = isStepMessage(job.nodeId) ? `#${digest(nodeKey(job))}` : '';
  return {
    group: `${job.run.runId}${lane}${resend}`,
    deduplication: digest('message', ...attemptParts(job), job.resend),
  };
};

/** Workflow tasks of a run share a group. A redispatched task has another group, so two tasks may then run at once. */
export const workflowTaskJobIdentity = (job: WorkflowTaskJob): MessageIdentity => ({
  group: `${job.run.runId}${job.resend === 0 ? '' : `#r${job.resend}`}`,
  deduplication: digest('workflow_task', ...attemptParts(job), job.resend),
});

/** Messages of a lane share a group: a second copy of a message waits for the first one. */
const devKitJobIdentity = ({ run, lane, deduplication }: DevKitJob): MessageIdentity => ({
  group: lane === undefined ? run.runId : `${run.runId}#${digest(lane)}`,
  deduplication: digest('devkit', run.projectId, run.environment, run.runId, deduplication),
});

/** The identity of a job on the code queue. */
export function codeJobIdentity(job: MessageJob | WorkflowTaskJob | DevKitJob): MessageIdentity {
  switch (job.kind) {
    case 'message':
      return messageJobIdentity(job);
    case 'workflow_task':
      return workflowTaskJobIdentity(job);
    case 'devkit':
      return devKitJobIdentity(job);
  }
}

/** Results of a run share a group, so that one collector commits many at once. */
export const resultIdentity = (result: ResultMessage): MessageIdentity => ({
  group: result.run.runId,
  // The result of an attempt that calls a child and the child's end are different messages.
  deduplication: digest('childRunId' in result ? 'child' : 'result', ...attemptParts(result)),
});

/** Watch messages of a run share a group. Callers may choose run ids, so two projects may have the same one. */
export const watchIdentity = ({ run, broadcastId }: Watch): MessageIdentity => ({
  group: createHash('sha256').update(runPartition(run)).digest('base64url'),
  deduplication: broadcastId,
});
