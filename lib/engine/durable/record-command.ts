/** Records the commands of the author's code: each begins a node of its run. */
import { defined } from '../../base/defined.ts';
import { attempt, firstAttempt, topLevel } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import { inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { Instant } from '../time.ts';
import { type Draft, emit, nodeOf } from './draft.ts';
import { type StepInfo, stepNodeId } from './step.ts';
import type { Command } from './command-batch.ts';

/** @returns the failure that ends the run, if the command is not possible */
export function recordCommand(draft: Draft, command: Command): Failure | undefined {
  const ref = { nodeId: stepNodeId(command.key), iteration: topLevel };
  invariant(nodeOf(draft, ref) === undefined, `step ${JSON.stringify(command.key)} was scheduled twice`);
  const node = { ...ref, attempt: firstAttempt };
  const step = stepInfoOf(command);
  switch (command.kind) {
    case 'function':
    case 'rollback':
    case 'signal-send':
      emit(draft, { type: 'NODE_DISPATCHED', ...node, via: 'inline', wave: 0, step });
      return undefined;
    case 'sleep':
      if (command.wakeAt > draft.tools.deadlineAt) return sleepPastDeadline(command.key);
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

/** An expiry after the run's deadline never happens. */
const expiryField = ({ tools }: Draft, { expiresAt }: { readonly expiresAt?: Instant }) =>
  expiresAt === undefined || expiresAt > tools.deadlineAt ? {} : { expiresAt };

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

const sleepPastDeadline = (key: string): Failure => ({
  cause: 'deadline',
  code: 'deadline_exceeded',
  message: `the sleep ${JSON.stringify(key)} would end after the deadline of the run`,
});
