/**
 * Drives a code run on: replays the author's code on the run's history and commits each turn that it comes to, until it rests.
 * The same drive may be begun twice, as with every queue: the log tells the two apart, and one of them stops.
 */
import { defined } from '../../engine/defined.ts';
import { divergedCode } from '../../engine/durable/defer-workflow-task.ts';
import { replayVersionKey } from '../../engine/durable/replay-version.ts';
import { invariant, unreachable } from '../../engine/invariant.ts';
import type { Failure } from '../../engine/log/events.ts';
import { reportedFailure } from '../../engine/log/failure-limits.ts';
import type { CodeHead } from '../../engine/log/head.ts';
import type { Deliveries } from '../../engine/log/deliveries.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { openNodeAt } from '../../engine/log/open-node-at.ts';
import { type Instant, between, durationMs, instant, seconds } from '../../engine/time.ts';
import type { Manifest } from '../../ports/deployments.ts';
import type { WorkflowTaskJob } from '../../ports/jobs.ts';
import type { WorkflowTaskEnd, WorkflowTask, Programs } from '../../ports/programs.ts';
import { admitAttempt, recordingAttemptErrors } from './admit-attempt.ts';
import { enforceDeadline } from '../commit/deadline.ts';
import type { Decider } from '../commit/decide-run.ts';
import { type WorkflowTaskEnding, WorkflowTaskLog } from './workflow-task-log.ts';
import { sendJobAt, recheckDelay, sendRecheck } from '../commit/schedule-message.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';
import { readRunInput } from '../run-log/read-run-input.ts';
import type { Delivery } from './run-node.ts';
import { sendStepSignal } from './send-step-signal.ts';
import { watchWorkflowTask } from './watch-workflow-task.ts';

export interface WorkflowTaskWorker extends Decider {
  readonly programs: Programs;
}

/** Left at the end of an invocation for the last commit and its sends. */
const reserveMs = seconds(5);
/** No body begins that has less than this left, or than a quarter of the whole time where that is short. */
const minStepTimeMs = seconds(60);
/** A queue gives a message once within five minutes: one that comes early by less than this waits here for its time. */
const maxEarlyWaitMs = seconds(5);

export async function runWorkflowTask(worker: WorkflowTaskWorker, job: WorkflowTaskJob, delivery: Delivery): Promise<void> {
  const { deps } = worker;
  const fold = await readRunFold(deps, job.run, job.commit);
  if (fold === undefined) return;
  const { head } = fold;
  invariant(head.kind === 'code', `${head.address.runId} is no run of code that is replayed`);
  const openNode = openNodeAt(fold.state, job, job.attempt);
  if (openNode === undefined) {
    // A duplicate sends nothing. A redelivery may be all that is left of a function that died after its commit.
    if (delivery.isRedelivered) await recheckNow(worker, fold);
    return;
  }
  const delay =
    openNode.status === 'queued' && openNode.notBefore !== undefined ? between(deps.clock.now(), openNode.notBefore) : 0;
  if (openNode.status === 'queued' && openNode.notBefore !== undefined && delay > maxEarlyWaitMs)
    return sendJobAt(deps, openNode.notBefore, job);
  if (delay > 0) await deps.clock.sleep(durationMs(delay));
  await enforceDeadline(worker, fold);
  if (isTerminal(fold.state.progress)) return;
  const admission = await admitAttempt(worker, fold, openNode, { ...delivery, resend: job.resend, mayOverlap: true });
  if (admission.kind === 'held_by_another') return sendRecheck(deps, head, recheckDelay);
  if (admission.kind === 'ended') return;
  const { deliveries } = admission;
  const act = async (): Promise<void> => {
    if (delivery.isRedelivered) await recheckNow(worker, fold);
    await workflowTask(worker, { fold, head, open: openNode, deliveries }, delivery);
  };
  await recordingAttemptErrors(worker, fold, openNode, act, deliveries);
}

/** What the drive before this one left unsent is sent by another function: to look at a run may move those of others. */
const recheckNow = ({ deps }: WorkflowTaskWorker, { head }: RunFold): Promise<void> => sendRecheck(deps, head, durationMs(0));

interface TaskContext {
  readonly fold: RunFold;
  readonly head: CodeHead;
  readonly open: OpenNode;
  /** what is known of earlier deliveries of its message */
  readonly deliveries: Deliveries | undefined;
}

async function workflowTask(worker: WorkflowTaskWorker, context: TaskContext, delivery: Delivery): Promise<void> {
  const { deps } = worker;
  const { fold, head, open } = context;
  const log = new WorkflowTaskLog(worker, fold, open);
  const deployment = await deps.deployments.deployment(head.address, head.deploymentId);
  const end: WorkflowTaskEnd =
    deployment === undefined
      ? { kind: 'unloadable', message: `deployment ${head.deploymentId} is gone` }
      : await replayUntilSuspended(worker, log, context, deployment.manifest, delivery);
  await log.close(taskEndingOf(log, end, () => deps.clock.now()));
}

async function replayUntilSuspended(
  worker: WorkflowTaskWorker,
  log: WorkflowTaskLog,
  { fold, head, deliveries }: TaskContext,
  manifest: Manifest,
  { mustEndAt, drainSignal }: Delivery,
): Promise<WorkflowTaskEnd> {
  const { deps, programs } = worker;
  const { clock } = deps;
  const killAt = instant(Math.max(clock.now(), mustEndAt - reserveMs));
  const stepReserve = Math.min(minStepTimeMs, between(clock.now(), killAt) / 4);
  const task: WorkflowTask = defined({
    run: {
      runId: head.address.runId,
      workflowName: head.workflow.name,
      version: head.workflow.version ?? null,
      createdAt: head.createdAt,
      deadlineAt: head.deadlineAt,
    },
    replayVersion: replayVersionOf(fold),
    input: await readRunInput(deps, head),
    history: await log.history(),
    handOffAt: instant(killAt - stepReserve),
    shouldCommitBeforeSteps: deliveries === undefined || deliveries.lost.length === 0 ? undefined : true,
  });
  const { projectId, environment } = head.address;
  const workflowTask = programs.start({ projectId, environment }, manifest, task, {
    commitBatch: (turn) => log.turn(turn),
    perform: (command) => sendStepSignal(deps, head, command),
  });
  const done = new AbortController();
  const suspend = (): void => workflowTask.handOff();
  if (drainSignal?.aborted === true) suspend();
  drainSignal?.addEventListener('abort', suspend, { signal: done.signal });
  // Whoever cannot watch must not let it go on; the drive's message comes back.
  let watchFailure: { readonly error: unknown } | undefined;
  const watching = watchWorkflowTask(deps, head, log, workflowTask, { killAt, done: done.signal, deliveries }).catch(
    (error: unknown) => {
      watchFailure = { error };
      return workflowTask.kill('nobody watches the drive any more');
    },
  );
  const end = await workflowTask.ended;
  done.abort();
  await watching;
  if (watchFailure !== undefined) throw watchFailure.error;
  return end;
}

/** A run is replayed as it began. */
function replayVersionOf({ head, state }: RunFold): number {
  const recorded = state.contextWrites.get(replayVersionKey)?.at(-1)?.payload;
  const value = recorded !== undefined && 'value' in recorded ? recorded.value : undefined;
  invariant(typeof value === 'number', `${head.address.runId} does not say how it is replayed`);
  return value;
}

/** What the run is told of a drive that ended otherwise than by a turn. */
function taskEndingOf(log: WorkflowTaskLog, end: WorkflowTaskEnd, now: () => Instant): (() => WorkflowTaskEnding) | undefined {
  const taskFields = () => ({ node: log.node, attempt: log.attempt, startedAt: log.startedAt, endedAt: now() });
  const deferred =
    (code: string, { message, details }: Pick<Failure, 'message' | 'details'>) =>
    (): WorkflowTaskEnding => ({
      kind: 'workflow-task-deferred',
      ...taskFields(),
      failure: reportedFailure(defined({ cause: 'error', code, message, details })),
    });
  const failed =
    (failure: Omit<Failure, 'message'>, { message, running }: Extract<WorkflowTaskEnd, { running: unknown }>) =>
    () =>
      ({
        kind: 'workflow-task-crashed',
        ...taskFields(),
        failure: reportedFailure({ ...failure, message }),
        running,
      }) satisfies WorkflowTaskEnding;
  switch (end.kind) {
    case 'finished':
      return undefined;
    case 'crashed':
      return failed({ cause: 'error', code: 'code_crashed' }, end);
    case 'timed_out':
      return failed({ cause: 'timeout', code: 'code_timed_out' }, end);
    case 'nondeterministic':
      return deferred(divergedCode, end);
    case 'unloadable':
      return deferred('artifact_unusable', end);
    case 'unknown_workflow':
      return deferred('workflow_unknown', end);
    default:
      return unreachable(end);
  }
}
