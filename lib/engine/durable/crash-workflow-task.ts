/** The author's code crashed its thread. Running steps fail with it; if none ran, the workflow task itself crashed. */
import { defined } from '../../base/defined.ts';
import { topLevel } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Instant, earliest } from '../time.ts';
import {
  type Draft,
  requestWorkflowTask,
  emit,
  endWorkflowTask,
  failedWith,
  hasEnded,
  markRunning,
  findOpenNode,
} from './draft.ts';
import type { CodeFact } from './facts.ts';
import { deferWorkflowTask } from './defer-workflow-task.ts';
import { endOrRollBack } from './roll-back.ts';
import { stepNodeId } from './step.ts';
import { decideRetry, stepRetryDefaults } from './step-retry.ts';

type WorkflowTaskCrash = Extract<CodeFact, { kind: 'workflow-task-crashed' }>;
type AttemptFailure = Pick<WorkflowTaskCrash, 'failure' | 'startedAt' | 'endedAt'>;

/** Workflow tasks in a row that may crash without a running step; then the run fails. */
export const maxTaskCrashes = 10;

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

const decideStepRetry = ({ tools }: Draft, { step, attempt, lostAttempts = 0 }: OpenNode, failure: Failure) =>
  decideRetry(
    { ...stepRetryDefaults, ...step?.retry },
    { failedAttempt: attempt - lostAttempts, isFinal: failure.cause === 'invalid', now: tools.now, deadlineAt: tools.deadlineAt },
  );
