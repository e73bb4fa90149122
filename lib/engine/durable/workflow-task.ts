/**
 * Workflow tasks: how a decision requests and ends one, and what follows when one does not end by itself, because the author's code
 * crashed its thread, the worker was lost, or the code cannot run now.
 */
import { backoffMs } from '../../base/retry.ts';
import { defined } from '../../base/defined.ts';
import { emit, failedWith, findOpenNode, hasEnded, latestDeadline, markRunning } from '../decision.ts';
import { firstAttempt, topLevel } from '../ids.ts';
import { inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Instant, earliest, after, durationMs, instant, minutes, seconds } from '../time.ts';
import type { CodeFact, Draft } from './facts.ts';
import { endOrRollBack } from './roll-back.ts';
import { stepNodeId, decideRetry, stepRetryDefaults, workflowTaskNodeId } from './step.ts';

/** @param via `inline`: the caller that commits it runs it too */
export function dispatchWorkflowTask(draft: Draft, notBefore?: Instant, via: 'queue' | 'inline' = 'queue'): void {
  const key = String((draft.state.code?.workflowTasks ?? 0) + 1);
  emit(
    draft,
    defined({
      type: 'NODE_DISPATCHED',
      nodeId: workflowTaskNodeId(Number(key)),
      iteration: topLevel,
      attempt: firstAttempt,
      via,
      wave: 0,
      step: { kind: 'workflow_task', key },
      notBefore: notBefore === undefined || notBefore <= draft.tools.now ? undefined : notBefore,
    }),
  );
}

const openWorkflowTasks = (draft: Draft): readonly OpenNode[] =>
  openNodes(draft.state).filter(({ step }) => step?.kind === 'workflow_task');

const dueAt = (workflowTask: OpenNode): Instant | undefined =>
  workflowTask.status === 'queued' ? workflowTask.notBefore : undefined;

/** Makes sure that a workflow task runs at `at` at the latest. A deferred task keeps its backoff: a new one would fail the same way. */
export function requestWorkflowTask(draft: Draft, at: Instant = draft.tools.now): void {
  const isRequested = openWorkflowTasks(draft).some(
    (workflowTask) => workflowTask.attempt > firstAttempt || (dueAt(workflowTask) ?? at) <= at,
  );
  if (!isRequested) dispatchWorkflowTask(draft, at);
}

/** Makes sure that a workflow task runs now, also if the current one is deferred. */
export function requestWorkflowTaskNow(draft: Draft): void {
  const { now } = draft.tools;
  if (!openWorkflowTasks(draft).some((workflowTask) => (dueAt(workflowTask) ?? now) <= now)) dispatchWorkflowTask(draft);
}

export function endWorkflowTask(
  draft: Draft,
  workflowTask: OpenNode,
  times: { readonly startedAt: Instant; readonly endedAt: Instant },
): void {
  const { nodeId, iteration, attempt } = workflowTask;
  const { startedAt, endedAt } = times;
  emit(draft, { type: 'NODE_COMPLETED', nodeId, iteration, attempt, output: inline(null), handle: null, startedAt, endedAt });
}

type WorkflowTaskCrash = Extract<CodeFact, { kind: 'workflow-task-crashed' }>;
type AttemptFailure = Pick<WorkflowTaskCrash, 'failure' | 'startedAt' | 'endedAt'>;

/** Workflow tasks in a row that may crash without a running step; then the run fails. */
export const maxTaskCrashes = 10;

/** The author's code crashed its thread. Running steps fail with it; if none ran, the workflow task itself crashed. */
export function crashWorkflowTask(draft: Draft, fact: WorkflowTaskCrash): void {
  const workflowTask = findOpenNode(draft, fact.node, fact.attempt);
  if (workflowTask === undefined) return;
  markRunning(draft);
  const steps = fact.running.flatMap(({ key, attempt }) => {
    const node = findOpenNode(draft, { nodeId: stepNodeId(key), iteration: topLevel }, attempt);
    return node === undefined ? [] : [node];
  });
  if (steps.length === 0) return crashWorkflow(draft, workflowTask, fact);
  failSteps(draft, workflowTask, steps, fact);
}

function failSteps(draft: Draft, workflowTask: OpenNode, steps: readonly OpenNode[], fact: AttemptFailure): void {
  const retries = steps.map((step, index) =>
    failStep(draft, step, index < maxDetailedFailures ? fact : { ...fact, failure: withoutDetails(fact.failure) }),
  );
  endWorkflowTask(draft, workflowTask, fact);
  // A final failure must reach the code at once.
  const waits = retries.flatMap((at) => (at === undefined ? [] : [at]));
  requestWorkflowTask(draft, waits.length === retries.length ? earliest(waits) : undefined);
}

/**
 * Workers crashed repeatedly during this workflow task: each running step loses an attempt, which its policy may retry.
 * @returns false if no step was running, so that the code itself is the likelier cause
 */
export function loseSteps(draft: Draft, workflowTask: OpenNode, { message, details }: Failure): boolean {
  const { now } = draft.tools;
  const steps = openNodes(draft.state).filter(
    (node) =>
      node.status !== 'waiting' &&
      node.step?.kind === 'function' &&
      (node.status === 'running' || (node.notBefore ?? now) <= now),
  );
  if (steps.length === 0) return false;
  const failure: Failure = defined({ cause: 'error', code: 'worker_lost', message, details });
  failSteps(draft, workflowTask, steps, { failure, startedAt: workflowTask.dispatchedAt, endedAt: now });
  return true;
}

function crashWorkflow(draft: Draft, workflowTask: OpenNode, fact: WorkflowTaskCrash): void {
  if (workflowTask.attempt < maxTaskCrashes) return deferWorkflowTask(draft, workflowTask, fact);
  endWorkflowTask(draft, workflowTask, fact);
  endOrRollBack(draft, failedWith(fact.failure));
  if (!hasEnded(draft)) requestWorkflowTask(draft);
}

/** Hundreds of steps may have been running, all with the same failure. */
const maxDetailedFailures = 5;
const shortMessageLength = 200;
const withoutDetails = ({ details: _details, message, ...failure }: Failure): Failure => ({
  ...failure,
  message: message.slice(0, shortMessageLength).toWellFormed(),
});

/** @returns the time of the retry; undefined if there is none */
function failStep(draft: Draft, node: OpenNode, { failure, startedAt, endedAt }: AttemptFailure): Instant | undefined {
  const { nodeId, iteration, attempt } = node;
  const step = { nodeId, iteration, attempt, failure, startedAt, endedAt };
  const decision = decideStepRetry(draft, node, failure);
  if (decision.kind === 'give_up') {
    emit(draft, { type: 'NODE_FAILED', ...step });
    return undefined;
  }
  emit(draft, { type: 'NODE_RETRIED', ...step, delayMs: decision.delayMs, retryAt: decision.retryAt, via: 'inline' });
  return decision.retryAt;
}

const decideStepRetry = (draft: Draft, { step, attempt, lostAttempts = 0 }: OpenNode, failure: Failure) =>
  decideRetry(
    { ...stepRetryDefaults, ...step?.retry },
    {
      failedAttempt: attempt - lostAttempts,
      isFinal: failure.cause === 'invalid',
      now: draft.tools.now,
      deadlineAt: latestDeadline(draft),
    },
  );

/** Failure code of a workflow task whose code issues other commands than its history contains. */
export const divergedCode = 'replay_diverged';

/** Delays that the code document specifies for workers without the definition: 5 s, doubled up to 5 minutes. */
const minDelay = seconds(5);
export const maxTaskDeferral = minutes(5);

/** Whether an earlier try of the task was deferred, for example because the code crashed its thread. */
export const wasDeferred = ({ attempt }: Pick<OpenNode, 'attempt'>): boolean => attempt > firstAttempt;

/** Defers a workflow task that cannot run now, with growing delay and without a limit, because the run has not failed. */
export function deferWorkflowTask(
  draft: Draft,
  { nodeId, iteration, attempt }: OpenNode,
  { failure, startedAt, endedAt }: { readonly failure: Failure; readonly startedAt: Instant; readonly endedAt: Instant },
): void {
  const { now, deadlineAt } = draft.tools;
  const delayMs = durationMs(backoffMs({ baseMs: minDelay, maxMs: maxTaskDeferral }, attempt));
  // The deadline is handled at its time in any case.
  const retryAt = instant(Math.min(after(now, delayMs), Math.max(now, deadlineAt)));
  emit(draft, { type: 'NODE_RETRIED', nodeId, iteration, attempt, failure, delayMs, retryAt, via: 'queue', startedAt, endedAt });
}
