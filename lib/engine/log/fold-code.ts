/** What the events of a code run write, beside what those of any node do. */
import { type EventId, type NodeId, attempt, eventId, firstAttempt } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { workflowExpiredCode } from '../durable/waits.ts';
import type { CodeState } from './code-state.ts';
import type { RunEvent } from './events.ts';
import { type NodeState, isOpen } from './node-state.ts';
import type { RunState } from './run-state.ts';

const firstCode: CodeState = { drives: 0, stepAttempts: 0, attempt: firstAttempt, since: eventId(1) };

/** Counts drives, and the attempts of steps. */
export function countStep(state: RunState, event: RunEvent, before: NodeState | undefined): void {
  const begun = 'step' in event ? event.step : undefined;
  if (begun !== undefined) {
    const code = state.code ?? firstCode;
    state.code = begun.kind === 'drive' ? { ...code, drives: code.drives + 1 } : { ...code, stepAttempts: code.stepAttempts + 1 };
    return;
  }
  if (event.type !== 'NODE_RETRIED' || before === undefined || !isOpen(before)) return;
  if (before.step === undefined || before.step.kind === 'drive') return;
  const code = codeOf(state);
  state.code = { ...code, stepAttempts: code.stepAttempts + 1 };
}

/** Only what was completed stands; and whoever is on the way to drive the run. */
export function retryCode(state: RunState, event: Extract<RunEvent, { type: 'RUN_RETRIED' }>, id: EventId): void {
  const code = codeOf(state);
  invariant(event.attempt === code.attempt, `the workflow is at attempt ${code.attempt}, not ${event.attempt}`);
  const calls: Record<NodeId, number> = { ...code.calls };
  for (const [key, node] of state.nodes.entries()) {
    if (node.status === 'completed' || ('step' in node && node.step?.kind === 'drive')) continue;
    if (hasFailedCall(node)) calls[node.nodeId] = (calls[node.nodeId] ?? 0) + 1;
    state.nodes.delete(key);
    state.open.delete(key);
  }
  const called = Object.keys(calls).length === 0 ? {} : { calls };
  state.code = { ...code, attempt: attempt(code.attempt + 1), since: id, ...called };
}

/** One that was not waited for any longer goes on, and may be waited for again. */
const hasFailedCall = (node: NodeState): boolean =>
  (node.status === 'failed' || node.status === 'timed_out') &&
  node.step?.kind === 'workflow' &&
  node.failure.code !== workflowExpiredCode;

export function beginRollback(state: RunState, { ending }: Extract<RunEvent, { type: 'ROLLBACK_STARTED' }>): void {
  const code = codeOf(state);
  invariant(code.ending === undefined, 'a rollback began twice');
  state.code = { ...code, ending, endedIn: code.drives };
}

function codeOf({ code }: RunState): CodeState {
  invariant(code !== undefined, 'the run is none of code that is replayed');
  return code;
}
