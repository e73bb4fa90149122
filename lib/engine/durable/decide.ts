/** Facts in, events out, for code runs. The code decides what it does; the engine decides what that means for the run. */
import { defined } from '../../base/defined.ts';
import {
  deadlineExceeded,
  decideCommonFact,
  emit,
  failedWith,
  findOpenNode,
  hasEnded,
  mustEndAtDeadline,
  markRunning,
  openDecision,
  recordResumption,
  retryNow,
  startRun,
} from '../decision.ts';
import { failureOfChild } from '../graph/waits.ts';
import { topLevel } from '../ids.ts';
import { unreachable } from '../invariant.ts';
import { type JsonValue, type Payload, inline } from '../json.ts';
import type { Failure, RunEvent } from '../log/events.ts';
import { type RunState, emptyState, openNodes } from '../log/fold.ts';
import { type ChildWait, type OpenNode, type WaitingNode, waitEndsAt } from '../log/node-state.ts';
import { type Instant, hours, after } from '../time.ts';
import {
  crashWorkflowTask,
  deferWorkflowTask,
  dispatchWorkflowTask,
  divergedCode,
  endWorkflowTask,
  loseSteps,
  requestWorkflowTask,
  requestWorkflowTaskNow,
} from './workflow-task.ts';
import type { CodeFact, CodeTools, Draft } from './facts.ts';
import { endOrRollBack, endWithUnfinishedRollback } from './roll-back.ts';
import { workflowExpiredCode } from './step.ts';
import { applyCommandBatch } from './apply-command-batch.ts';

/** A rollback may continue for this long after the run's deadline. */
export const rollbackGrace = hours(1);

/** The first commit: the input, and the first workflow task. @param via as for `dispatchWorkflowTask` */
export function decideCodeStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  tools: CodeTools,
  notBefore?: Instant,
  via?: 'queue' | 'inline',
): readonly RunEvent[] {
  const draft = openDecision(emptyState(), tools);
  startRun(draft, input, system);
  dispatchWorkflowTask(draft, notBefore, via);
  return draft.events;
}

/**
 * The events that follow from these facts, in order. No events: there is nothing to commit.
 * After the deadline the first fact ends the run or begins its rollback. A command batch made before that is dropped: its workflow task
 * reads the log and replays.
 */
export function decideCode(state: RunState, facts: readonly CodeFact[], tools: CodeTools): readonly RunEvent[] {
  const draft = openDecision(state, tools);
  const isOver = facts.length > 0 && mustEndAtDeadline(draft);
  const before = draft.events.length;
  if (isOver) applyDeadline(draft);
  const hasDeadlineEvents = draft.events.length > before;
  for (const fact of facts) {
    if (hasEnded(draft)) break;
    if (!hasDeadlineEvents || fact.kind !== 'command-batch') decideOne(draft, fact);
  }
  return draft.events;
}

function decideOne(draft: Draft, fact: CodeFact): void {
  switch (fact.kind) {
    case 'command-batch':
      return applyCommandBatch(draft, fact);
    case 'workflow-task-crashed':
      return crashWorkflowTask(draft, fact);
    case 'commit-too-large':
      markRunning(draft);
      return failOrRollBack(draft, fact.failure);
    case 'workflow-task-deferred': {
      const workflowTask = findOpenNode(draft, fact.node, fact.attempt);
      if (workflowTask === undefined) return;
      markRunning(draft);
      return deferOrEndRollback(draft, workflowTask, fact);
    }
    case 'node-woken': {
      const node = findOpenNode(draft, fact.node, fact.attempt);
      if (node?.status !== 'waiting') return;
      const endsAt = waitEndsAt(node);
      if (endsAt === undefined || endsAt > draft.tools.now) return;
      return expire(draft, node);
    }
    case 'wake-requested': {
      if (fact.retries === true) return retryStepsNow(draft, fact);
      const { nodeIds } = fact;
      return wakeEarly(draft, ({ nodeId }) => nodeIds === undefined || nodeIds.includes(nodeId));
    }
    case 'resume-requested':
      return resumeRun(draft, fact);
    case 'signal-received':
      return receiveSignal(draft, fact);
    case 'child-ended':
      return endCall(draft, fact);
    case 'node-lost':
      return loseWorkflowTask(draft, fact);
    case 'cancel-requested':
      if (draft.state.code?.runOutcome !== undefined) return;
      endOrRollBack(draft, defined({ status: 'cancelled', reason: fact.reason }));
      return hasEnded(draft) ? undefined : requestWorkflowTaskNow(draft);
    case 'node-started':
    case 'deadline-passed':
      return decideCommonFact(draft, fact);
    case 'recovered':
      decideCommonFact(draft, fact);
      // No path leads here, but if a run ever had neither a task nor a wait, this recovers it.
      if (openNodes(draft.state).every(({ status, step }) => status !== 'waiting' && step?.kind !== 'workflow_task'))
        requestWorkflowTask(draft);
      return;
    default:
      unreachable(fact);
  }
}

type FactOf<Kind extends CodeFact['kind']> = Extract<CodeFact, { kind: Kind }>;

function resumeRun(draft: Draft, fact: FactOf<'resume-requested'>): void {
  recordResumption(draft, fact);
  wakeEarly(draft, () => true);
  requestWorkflowTaskNow(draft);
}

function receiveSignal(draft: Draft, { node: ref, attempt, signal }: FactOf<'signal-received'>): void {
  const node = findOpenNode(draft, ref, attempt);
  if (node?.status !== 'waiting' || node.for !== 'signal') return;
  const { name, correlation } = node;
  emit(draft, { type: 'SIGNAL_RECEIVED', ...ref, attempt, signalId: signal.signalId, name, correlation });
  // Null is the result of an expired wait, so the payload is wrapped.
  completeWait(draft, node, inline({ data: signal.payload }));
}

/** The run that a step called has ended. */
function endCall(draft: Draft, { node: ref, attempt, childRunId, end }: FactOf<'child-ended'>): void {
  const node = findOpenNode(draft, ref, attempt);
  if (node?.status !== 'waiting' || node.for !== 'child' || node.childRunId !== childRunId) return;
  const failure = failureOfChild(end, childRunId);
  if (failure === undefined) return completeWait(draft, node, inline(end.status === 'completed' ? end.output : null));
  emit(draft, { type: 'NODE_FAILED', ...ref, attempt, failure, ...spanOf(draft, node) });
  requestWorkflowTask(draft);
}

function loseWorkflowTask(draft: Draft, { node: ref, attempt, failure }: FactOf<'node-lost'>): void {
  const workflowTask = findOpenNode(draft, ref, attempt);
  if (workflowTask?.step?.kind !== 'workflow_task') return;
  markRunning(draft);
  if (loseSteps(draft, workflowTask, failure)) return;
  emit(draft, { type: 'NODE_FAILED', ...ref, attempt, failure, ...spanOf(draft, workflowTask) });
  // A task that was lost before the rollback began does not leave the rollback undone.
  if (Number(workflowTask.step.key) <= (draft.state.code?.workflowTasksAtRollback ?? 0)) return requestWorkflowTask(draft);
  failOrRollBack(draft, { ...failure, code: 'workflow_task_lost' });
}

/** Workflow tasks that may diverge during a rollback: nondeterministic code may still replay correctly on a later attempt. */
export const maxDivergedRollbacks = 5;

/** A caller may wait for the end of a rollback: what diverging code cannot roll back is left, and the run's error names it. */
function deferOrEndRollback(
  draft: Draft,
  workflowTask: OpenNode,
  fact: Extract<CodeFact, { kind: 'workflow-task-deferred' }>,
): void {
  const runOutcome = draft.state.code?.runOutcome;
  const { failure } = fact;
  if (runOutcome === undefined || failure.code !== divergedCode || workflowTask.attempt < maxDivergedRollbacks)
    return deferWorkflowTask(draft, workflowTask, fact);
  endWorkflowTask(draft, workflowTask, fact);
  endWithUnfinishedRollback(draft, runOutcome, failure.message);
}

/** A workflow task performs the rollback. If the run fails again during its rollback, it ends as it is. */
function failOrRollBack(draft: Draft, failure: Parameters<typeof failedWith>[0]): void {
  endOrRollBack(draft, failedWith(failure));
  if (!hasEnded(draft)) requestWorkflowTask(draft);
}

function applyDeadline(draft: Draft): void {
  const { now, deadlineAt } = draft.tools;
  const runOutcome = draft.state.code?.runOutcome;
  if (runOutcome === undefined) return failOrRollBack(draft, deadlineExceeded);
  if (now >= after(deadlineAt, rollbackGrace))
    endWithUnfinishedRollback(draft, runOutcome, 'the deadline of the run has passed by an hour');
}

/** Ends a wait that expired: a sleep completes, a signal wait returns null, a called run continues without its caller. */
function expire(draft: Draft, node: WaitingNode): void {
  if (node.for !== 'child') return completeWait(draft, node, inline(null));
  const { nodeId, iteration, attempt } = node;
  emit(draft, { type: 'NODE_FAILED', nodeId, iteration, attempt, failure: workflowExpired(node), ...spanOf(draft, node) });
  requestWorkflowTask(draft);
}

const workflowExpired = ({ workflowName, childRunId }: ChildWait): Failure => ({
  cause: 'timeout',
  code: workflowExpiredCode,
  message: `the called run of ${workflowName} did not end before the wait expired; it continues by itself`,
  details: { childRunId },
});

function wakeEarly(draft: Draft, matches: (node: OpenNode) => boolean): void {
  for (const node of openNodes(draft.state)) {
    if (node.status !== 'waiting' || node.for !== 'time' || !matches(node)) continue;
    emit(draft, { type: 'NODE_WOKEN', nodeId: node.nodeId, iteration: topLevel, attempt: node.attempt });
    completeWait(draft, node, inline(null));
  }
}

/** A step is retried by a workflow task. The message of a deferred workflow task follows from its own event. */
function retryStepsNow(draft: Draft, request: FactOf<'wake-requested'>): void {
  if (retryNow(draft, request).some(({ step }) => step?.kind !== 'workflow_task')) requestWorkflowTaskNow(draft);
}

function completeWait(draft: Draft, node: WaitingNode, output: Payload): void {
  const { nodeId, iteration, attempt } = node;
  emit(draft, { type: 'NODE_COMPLETED', nodeId, iteration, attempt, output, handle: null, ...spanOf(draft, node) });
  requestWorkflowTask(draft);
}

const spanOf = ({ tools }: Draft, { dispatchedAt }: OpenNode) => ({ startedAt: dispatchedAt, endedAt: tools.now });
