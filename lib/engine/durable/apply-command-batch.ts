/** Applies a command batch of the author's code to its run. */
import { emit, endRun, failedWith, hasEnded, latestDeadline, markRunning, findOpenNode } from '../decision.ts';
import { defined } from '../../base/defined.ts';
import { topLevel, attempt, firstAttempt, nodeKey } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import { inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Instant, earliest, iso } from '../time.ts';
import type { CommandBatchEntry, Command } from './command-batch.ts';
import type { CodeFact, Draft } from './facts.ts';
import { endOrRollBack, hasStepsToRollBack, withRollbackFailures } from './roll-back.ts';
import { type StepInfo, stepNodeId } from './step.ts';
import { deferWorkflowTask, requestWorkflowTask, dispatchWorkflowTask, endWorkflowTask } from './workflow-task.ts';

type CommandBatchFact = Extract<CodeFact, { kind: 'command-batch' }>;

/** A run with more attempts has a history that is too long to replay within one function invocation. */
export const maxStepAttempts = 25_000;

/** Workflow tasks in a row that may stall. The code then awaits something that is not a step, so nothing will wake the run. */
export const maxStalls = 5;

export function applyCommandBatch(draft: Draft, fact: CommandBatchFact): void {
  const workflowTask = findOpenNode(draft, fact.node, fact.attempt);
  if (workflowTask === undefined) return;
  markRunning(draft);
  const wasRollingBack = isRollingBack(draft);
  for (const entry of fact.batch.entries) {
    applyEntry(draft, workflowTask, entry, fact);
    // The rest of the batch no longer matters. This workflow task continues with the rollback.
    if (hasEnded(draft) || isRollingBack(draft) !== wasRollingBack) return;
  }
  if ((draft.state.code?.stepAttempts ?? 0) > maxStepAttempts) return failRun(draft, workflowTask, tooManySteps, fact);
  finishBatch(draft, fact);
}

const isRollingBack = ({ state }: Draft): boolean => state.code?.runOutcome !== undefined;

function finishBatch(draft: Draft, fact: CommandBatchFact): void {
  // After RUN_RETRIED another workflow task continues.
  const workflowTask = findOpenNode(draft, fact.node, fact.attempt);
  const { batch } = fact;
  if (workflowTask === undefined || batch.next === 'running') return;
  const isIdle = openNodes(draft.state).every(({ step }) => step?.kind === 'workflow_task');
  // Results that arrived when the task yielded are delivered to the code by the next task.
  const hasUndeliveredEntries = batch.next === 'yielded' && batch.entries.length > 0;
  if (isIdle && batch.wakeAt === undefined && !hasUndeliveredEntries) return stall(draft, workflowTask, fact);
  endWorkflowTask(draft, workflowTask, fact);
  if (batch.next === 'yielded') return requestWorkflowTask(draft);
  const wakeAt = batch.wakeAt ?? nextAttemptAt(draft);
  if (wakeAt !== undefined) requestWorkflowTask(draft, wakeAt);
}

/** An open step needs a workflow task that executes it, with or without a `wakeAt` in the batch. */
function nextAttemptAt(draft: Draft): Instant | undefined {
  const { now } = draft.tools;
  const openSteps = openNodes(draft.state).filter(({ status, step }) => status !== 'waiting' && step?.kind !== 'workflow_task');
  return earliest(openSteps.map((node) => (node.status === 'queued' ? (node.notBefore ?? now) : now)));
}

function stall(draft: Draft, workflowTask: OpenNode, fact: CommandBatchFact): void {
  if (workflowTask.attempt < maxStalls) return deferWorkflowTask(draft, workflowTask, { ...fact, failure: stalled });
  failRun(draft, workflowTask, stalled, fact);
}

/** Ends the run, also when its rollback is unfinished; or this workflow task continues with the rollback. */
function failRun(draft: Draft, workflowTask: OpenNode, failure: Failure, times: Span): void {
  if (!hasStepsToRollBack(draft)) endWorkflowTask(draft, workflowTask, times);
  endOrRollBack(draft, failedWith(failure));
}

interface Span {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
}

function applyEntry(draft: Draft, workflowTask: OpenNode, entry: CommandBatchEntry, times: CommandBatchFact): void {
  switch (entry.kind) {
    case 'scheduled': {
      const failure = recordCommand(draft, entry.command);
      return failure === undefined ? undefined : failRun(draft, workflowTask, failure, times);
    }
    case 'completed': {
      const { startedAt, endedAt, printed } = entry;
      const execution = defined({ startedAt, endedAt, printed });
      return emit(draft, {
        type: 'NODE_COMPLETED',
        ...runningStepRef(draft, entry),
        output: inline(entry.output),
        handle: null,
        ...execution,
      });
    }
    case 'retried': {
      const { startedAt, endedAt, printed, failure, delayMs, retryAt } = entry;
      const execution = defined({ startedAt, endedAt, printed });
      return emit(draft, {
        type: 'NODE_RETRIED',
        ...runningStepRef(draft, entry),
        failure,
        delayMs,
        retryAt,
        via: 'inline',
        ...execution,
      });
    }
    case 'failed': {
      const { startedAt, endedAt, printed, failure } = entry;
      const execution = defined({ startedAt, endedAt, printed });
      return emit(draft, { type: 'NODE_FAILED', ...runningStepRef(draft, entry), failure, ...execution });
    }
    case 'returned':
      endWorkflowTask(draft, workflowTask, times);
      emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'completed' });
      return emit(draft, { type: 'RUN_COMPLETED', output: inline(entry.output) });
    case 'threw': {
      if (entry.nextAttempt === undefined) return failRun(draft, workflowTask, entry.failure, times);
      const { code } = draft.state;
      invariant(code !== undefined, 'the run has no code state although its code threw');
      endWorkflowTask(draft, workflowTask, times);
      emit(draft, { type: 'RUN_RETRIED', attempt: code.attempt, failure: entry.failure, ...entry.nextAttempt });
      return dispatchWorkflowTask(draft, entry.nextAttempt.retryAt);
    }
    case 'rolled-back': {
      const runOutcome = draft.state.code?.runOutcome;
      invariant(runOutcome !== undefined, 'the run reports a finished rollback that never began');
      endWorkflowTask(draft, workflowTask, times);
      return endRun(draft, withRollbackFailures(runOutcome, entry.failures));
    }
    default:
      unreachable(entry);
  }
}

/** The running attempt of a step. A batch that names any other attempt is a bug in the engine. */
function runningStepRef(draft: Draft, { key, attempt }: Extract<CommandBatchEntry, { key: string; attempt: unknown }>) {
  const ref = { nodeId: stepNodeId(key), iteration: topLevel };
  const node = findOpenNode(draft, ref, attempt);
  invariant(node?.step?.key === key, `step ${JSON.stringify(key)} is not at attempt ${attempt}`);
  return { ...ref, attempt };
}

const tooManySteps: Failure = {
  cause: 'invalid',
  code: 'step_limit_exceeded',
  message: `the run has more than ${maxStepAttempts} step attempts`,
};

const stalled: Failure = {
  cause: 'error',
  code: 'code_stalled',
  message: 'the code neither ended nor started a step: it awaits a promise that is not a step',
};

/** @returns the failure that ends the run, if the command is not possible */
function recordCommand(draft: Draft, command: Command): Failure | undefined {
  const ref = { nodeId: stepNodeId(command.key), iteration: topLevel };
  invariant(draft.state.nodes.get(nodeKey(ref)) === undefined, `step ${JSON.stringify(command.key)} was scheduled twice`);
  const node = { ...ref, attempt: firstAttempt };
  const step = stepInfoOf(command);
  switch (command.kind) {
    case 'function':
    case 'rollback':
    case 'signal-send':
      emit(draft, { type: 'NODE_DISPATCHED', ...node, via: 'inline', wave: 0, step });
      return undefined;
    case 'sleep':
      if (command.wakeAt > latestDeadline(draft)) return sleepPastDeadline(draft, command);
      emit(draft, { type: 'SLEEP_STARTED', ...node, wakeAt: command.wakeAt, output: inline(null), step });
      return undefined;
    case 'signal-wait':
      emit(draft, {
        type: 'SIGNAL_AWAITED',
        ...node,
        name: command.signal,
        correlation: command.correlation,
        ...expiryField(draft, command),
        step,
      });
      return undefined;
    case 'workflow':
      emit(draft, {
        type: 'SUBFLOW_CALLED',
        ...node,
        childRunId: draft.tools.childRunId(ref, attempt(1 + (draft.state.code?.failedCalls?.[ref.nodeId] ?? 0))),
        workflowName: command.workflowName,
        input: inline(command.input),
        ...expiryField(draft, command),
        parentClosePolicy: 'abandon',
        onChildCancelled: 'fail',
        step,
      });
      return undefined;
    default:
      return unreachable(command);
  }
}

/** An expiry after the run's latest deadline never happens. */
const expiryField = (draft: Draft, { expiresAt }: { readonly expiresAt?: Instant }) =>
  expiresAt === undefined || expiresAt > latestDeadline(draft) ? {} : { expiresAt };

function stepInfoOf(command: Command): StepInfo {
  const { kind, key } = command;
  switch (command.kind) {
    case 'workflow':
      return { kind, key, target: command.workflowName };
    case 'signal-wait':
    case 'signal-send':
      return { kind, key, target: command.signal };
    case 'sleep':
      return { kind, key };
    case 'function':
    case 'rollback': {
      const hasRollback = command.kind === 'function' && command.hasRollback === true;
      return defined({
        kind,
        key,
        retry: command.retry,
        hasRollback: hasRollback ? hasRollback : undefined,
      });
    }
    default:
      return unreachable(command);
  }
}

const sleepPastDeadline = (draft: Draft, { key, wakeAt }: Extract<Command, { kind: 'sleep' }>): Failure => ({
  cause: 'deadline',
  code: 'deadline_exceeded',
  message:
    `the sleep ${JSON.stringify(key)} would end at ${iso(wakeAt)}, after the deadline of the run at ${iso(latestDeadline(draft))}: ` +
    'sleep for a shorter time, or declare a longer deadline where the workflow is defined or started (at most 365 days)',
});
