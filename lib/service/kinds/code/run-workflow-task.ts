/**
 * Runs a workflow task of a code run: replays the workflow function on the run's history and commits each command batch until the
 * function suspends. The queue may deliver the task twice. The log then lets only one of the two continue.
 */
import { defined } from '../../../base/defined.ts';
import { replayVersionKey } from '../../../engine/durable/command-batch.ts';
import { divergedCode, wasDeferred } from '../../../engine/durable/workflow-task.ts';
import { invariant, unreachable } from '../../../engine/invariant.ts';
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { reportedFailure } from '../../../engine/log/event-limits.ts';
import type { Failure } from '../../../engine/log/events.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { type CodeHead, latestDeadlineOf } from '../../../engine/log/head.ts';
import type { OpenNode } from '../../../engine/log/node-state.ts';
import { dueWorkflowTasksBeside, openNodeAt } from '../../../engine/log/open-nodes.ts';
import { type Instant, between, durationMs, instant, seconds } from '../../../engine/time.ts';
import type { Deployment, Manifest } from '../../../ports/deployments.ts';
import type { WorkflowTaskJob } from '../../../ports/jobs.ts';
import type { WorkflowTaskEnd, WorkflowTask } from '../../../ports/programs.ts';
import { enforceDeadline } from '../../commit/deadline.ts';
import { sendJobAt, recheckDelay, sendRecheck } from '../../commit/schedule-message.ts';
import { admitAttempt, recordingAttemptErrors } from '../../execution/admit-attempt.ts';
import { type RunFold, readRunFold } from '../../run-log/read-run-fold.ts';
import { readRunInput } from '../../run-log/read-run-input.ts';
import type { Delivery, WorkflowTaskWorker } from '../../worker.ts';
import { sendStepSignal } from './send-step-signal.ts';
import { watchWorkflowTask } from './watch-workflow-task.ts';
import { type WorkflowTaskEnding, WorkflowTaskLog } from './workflow-task-log.ts';

/** Time reserved at the end of an invocation for the last commit and its effects. */
const reserveMs = seconds(5);
/** A step starts only if at least this much time remains, or a quarter of the invocation's time if that is less. */
export const minStepTimeMs = seconds(60);
/** A message that is early by less than this waits here: a resend within 5 minutes would be dropped as a duplicate. */
const maxEarlyWaitMs = seconds(5);

/** @param carried the run, if another process has just read or written it */
export async function runWorkflowTask(
  worker: WorkflowTaskWorker,
  job: WorkflowTaskJob,
  delivery: Delivery,
  carried?: RunFold,
): Promise<void> {
  const { deps, known } = worker;
  const { deploymentId } = job.creation;
  // The message names the deployment, so it is read beside the log. An error of it counts only if the task begins.
  const reading =
    known?.deployment(deps.deployments, job.run, deploymentId) ?? deps.deployments.deployment(job.run, deploymentId);
  const [fold] = await Promise.all([carried ?? readRunFold(deps, job.run, job.commit), Promise.allSettled([reading])]);
  if (fold === undefined) return;
  const { head } = fold;
  invariant(head.kind === 'code', `${head.address.runId} received a workflow task, but it is a ${head.kind} run, not a code run`);
  const found = openNodeAt(fold.state, job, job.attempt);
  // A later commit dispatched the attempt if its backoff was ended early. The job of that commit runs it.
  const openNode = found?.dispatchedIn === job.commit ? found : undefined;
  if (openNode === undefined) {
    // A duplicate dispatches nothing. After a redelivery, the function before may have crashed between its commit and its effects.
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
  const rivals = dueWorkflowTasksBeside(fold.state, openNode, deps.clock.now());
  // A redelivered task whose worker sent only heartbeats begins at once: after a restart of the machine its message is visible at once.
  const facts = { ...delivery, resend: job.resend, mayOverlap: delivery.isRedelivered, rivals };
  const admission = await admitAttempt(worker, fold, openNode, facts);
  if (admission.kind === 'held_by_another') return sendRecheck(deps, head, recheckDelay);
  if (admission.kind === 'ended') return;
  const { deliveries } = admission;
  const act = async (): Promise<void> => {
    if (delivery.isRedelivered) await recheckNow(worker, fold);
    // A worker, or the thread of the code, may have crashed before.
    const isFirstTry = !delivery.isRedelivered && job.resend === 0 && !wasDeferred(openNode);
    await runTask(worker, { fold, head, open: openNode, deliveries, isFirstTry, reading }, delivery);
  };
  await recordingAttemptErrors(worker, fold, openNode, act, deliveries);
}

/** Makes the worker dispatch effects that the earlier workflow task left. This function must not: recovery may write to other runs. */
const recheckNow = ({ deps }: WorkflowTaskWorker, { head }: RunFold): Promise<void> => sendRecheck(deps, head, durationMs(0));

interface TaskContext {
  readonly fold: RunFold;
  readonly head: CodeHead;
  readonly open: OpenNode;
  /** records of earlier deliveries of the task */
  readonly deliveries: Deliveries | undefined;
  /** no earlier try of the task may have crashed */
  readonly isFirstTry: boolean;
  /** the deployment that the run is pinned to */
  readonly reading: Promise<Deployment | undefined>;
}

async function runTask(worker: WorkflowTaskWorker, context: TaskContext, delivery: Delivery): Promise<void> {
  const { deps } = worker;
  const { fold, head, open } = context;
  const log = new WorkflowTaskLog(worker, fold, open);
  const deployment = await context.reading;
  const end: WorkflowTaskEnd =
    deployment === undefined
      ? { kind: 'unloadable', message: `deployment ${head.deploymentId} does not exist any more` }
      : await replayUntilSuspended(worker, log, context, deployment.manifest, delivery);
  await log.close(taskEndingOf(log, end, () => deps.clock.now()));
}

async function replayUntilSuspended(
  worker: WorkflowTaskWorker,
  log: WorkflowTaskLog,
  { fold, head, open, deliveries, isFirstTry }: TaskContext,
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
      deadlineAt: latestDeadlineOf(head),
    },
    replayVersion: replayVersionOf(fold),
    input: await readRunInput(deps, head),
    history: await log.history(),
    handOffAt: instant(killAt - stepReserve),
    shouldCommitBeforeSteps: isFirstTry && (deliveries === undefined || deliveries.lost.length === 0) ? undefined : true,
  });
  const { projectId, environment } = head.address;
  const workflowTask = programs.start({ projectId, environment }, manifest, task, {
    commitBatch: (batch) => log.commitBatch(batch),
    perform: (command) => sendStepSignal(deps, head, command),
  });
  const done = new AbortController();
  const suspend = (): void => workflowTask.handOff();
  if (drainSignal?.aborted === true) suspend();
  drainSignal?.addEventListener('abort', suspend, { signal: done.signal });
  // Without the watcher the task must not continue. The queue redelivers its message.
  let watchFailure: { readonly error: unknown } | undefined;
  const watching = watchWorkflowTask(deps, head, log, workflowTask, { killAt, done: done.signal, open, deliveries }).catch(
    (error: unknown) => {
      watchFailure = { error };
      return workflowTask.kill('the heartbeat and time limit of the workflow task could not be maintained');
    },
  );
  const end = await workflowTask.ended;
  done.abort();
  await watching;
  if (watchFailure !== undefined) throw watchFailure.error;
  return end;
}

/** The replay version that the run started with. */
function replayVersionOf({ head, state }: RunFold): number {
  const recorded = state.contextWrites.get(replayVersionKey)?.at(-1)?.payload;
  const value = recorded !== undefined && 'value' in recorded ? recorded.value : undefined;
  invariant(typeof value === 'number', `the log of ${head.address.runId} contains no replay version`);
  return value;
}

/** The fact to commit for a workflow task that ended without a last command batch. */
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
