/** The fold of events that only code runs have. */
import { type EventId, type NodeId, attempt, eventId, firstAttempt } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { workflowExpiredCode } from '../durable/step.ts';
import type { RunEvent } from './events.ts';
import { type NodeState, isOpen } from './node-state.ts';
import type { CodeState, RunState } from './run-state.ts';

const initialCodeState: CodeState = { workflowTasks: 0, stepAttempts: 0, attempt: firstAttempt, attemptStartedAfter: eventId(1) };

/** Counts workflow tasks and step attempts. */
export function countTaskOrStep(state: RunState, event: RunEvent, before: NodeState | undefined): void {
  const startedStep = 'step' in event ? event.step : undefined;
  if (startedStep !== undefined) {
    const code = state.code ?? initialCodeState;
    state.code =
      startedStep.kind === 'workflow_task'
        ? { ...code, workflowTasks: code.workflowTasks + 1 }
        : { ...code, stepAttempts: code.stepAttempts + 1 };
    return;
  }
  if (event.type !== 'NODE_RETRIED' || before === undefined || !isOpen(before)) return;
  if (before.step === undefined || before.step.kind === 'workflow_task') return;
  const code = requireCodeState(state);
  state.code = { ...code, stepAttempts: code.stepAttempts + 1 };
}

/** Keeps completed steps and open workflow tasks; forgets every other node. */
export function retryWorkflow(state: RunState, event: Extract<RunEvent, { type: 'RUN_RETRIED' }>, id: EventId): void {
  const code = requireCodeState(state);
  invariant(event.attempt === code.attempt, `the workflow is at attempt ${code.attempt}, not ${event.attempt}`);
  const failedCalls: Record<NodeId, number> = { ...code.failedCalls };
  for (const [key, node] of state.nodes.entries()) {
    if (node.status === 'completed' || ('step' in node && node.step?.kind === 'workflow_task')) continue;
    if (hasFailedCall(node)) failedCalls[node.nodeId] = (failedCalls[node.nodeId] ?? 0) + 1;
    state.nodes.delete(key);
    state.open.delete(key);
  }
  const failedCallsField: Pick<CodeState, 'failedCalls'> = Object.keys(failedCalls).length === 0 ? {} : { failedCalls };
  state.code = { ...code, attempt: attempt(code.attempt + 1), attemptStartedAfter: id, ...failedCallsField };
}

/** A call whose wait expired did not fail: its run continues, and the next attempt may wait for it again. */
const hasFailedCall = (node: NodeState): boolean =>
  (node.status === 'failed' || node.status === 'timed_out') &&
  node.step?.kind === 'workflow' &&
  node.failure.code !== workflowExpiredCode;

export function beginRollback(state: RunState, { runOutcome }: Extract<RunEvent, { type: 'ROLLBACK_STARTED' }>): void {
  const code = requireCodeState(state);
  invariant(code.runOutcome === undefined, 'ROLLBACK_STARTED occurs twice');
  state.code = { ...code, runOutcome, workflowTasksAtRollback: code.workflowTasks };
}

function requireCodeState({ code }: RunState): CodeState {
  invariant(code !== undefined, 'the run has no code state: only code runs have steps and rollbacks');
  return code;
}
