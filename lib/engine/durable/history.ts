/** Derives from the fold the history on which the author's code is replayed: commands and results, in order. */
import { defined } from '../../base/defined.ts';
import { type EventId, firstAttempt } from '../ids.ts';
import type { Payload } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import { type EndedNode, type NodeState, isOpen } from '../log/node-state.ts';
import type { StepInfo } from './step.ts';
import type { History, HistoryEntry, OpenStep, StepResult } from './command-batch.ts';

interface OrderedEntry {
  readonly at: EventId;
  readonly entry: HistoryEntry<Payload>;
}

export function historyOf({ nodes, code }: RunState): History<Payload> {
  const ordered: OrderedEntry[] = [];
  const priorResults: History<Payload>['priorResults'][number][] = [];
  const open: OpenStep[] = [];
  for (const [, node] of nodes.entries()) {
    const step = 'step' in node ? node.step : undefined;
    const begunBy = step === undefined ? undefined : begunByOf(node);
    if (step === undefined || step.kind === 'workflow_task' || begunBy === undefined) continue;
    const result = isOpen(node) ? undefined : resultOf(node);
    if (code !== undefined && begunBy <= code.attemptStartedAfter) {
      if (result?.status === 'completed')
        priorResults.push({ key: step.key, step: step.kind, output: result.output, endedAt: result.endedAt });
      continue;
    }
    ordered.push({ at: begunBy, entry: scheduledEntry(step) });
    if (result !== undefined && !isOpen(node))
      ordered.push({ at: node.endedBy, entry: { kind: 'settled', key: step.key, result } });
    const openStep = openStepOf(node, step);
    if (openStep !== undefined) open.push(openStep);
  }
  return defined({
    entries: ordered.toSorted((one, other) => one.at - other.at).map(({ entry }) => entry),
    priorResults,
    open,
    attempt: code?.attempt ?? firstAttempt,
    stepAttempts: code?.stepAttempts ?? 0,
    runOutcome: code?.runOutcome === undefined ? undefined : code.runOutcome,
  });
}

const begunByOf = (node: NodeState): EventId | undefined =>
  isOpen(node) ? node.pinnedAt : 'begunBy' in node ? node.begunBy : undefined;

const scheduledEntry = ({ kind, key, target }: StepInfo): HistoryEntry<Payload> =>
  defined({
    kind: 'scheduled',
    key,
    step: kind,
    target,
  });

function resultOf(node: EndedNode): StepResult<Payload> | undefined {
  if (node.status === 'completed') return { status: 'completed', output: node.output, endedAt: node.endedAt };
  if (node.status === 'failed' || node.status === 'timed_out')
    return { status: 'failed', failure: node.failure, endedAt: node.endedAt };
  return undefined;
}

/** Steps that the workflow task must execute; waits end by themselves. */
function openStepOf(node: NodeState, { key }: StepInfo): OpenStep | undefined {
  if (!isOpen(node) || node.status === 'waiting') return undefined;
  const { attempt, dispatchedIn: dispatchCommit, lostAttempts = 0 } = node;
  const retryAt = node.status === 'queued' ? node.notBefore : undefined;
  return defined({ key, attempt, dispatchCommit, lostAttempts, retryAt });
}
