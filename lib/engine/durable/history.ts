/** The history that the author's code is replayed on, as the fold knows it: what was asked for and what came of it, in order. */
import { type EventId, firstAttempt } from '../ids.ts';
import type { Payload } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import { type EndedNode, type NodeState, isOpen } from '../log/node-state.ts';
import type { StepMark } from './step.ts';
import type { History, HistoryEntry, OpenStep, StepResult } from './turn.ts';

interface Placed {
  readonly at: EventId;
  readonly entry: HistoryEntry<Payload>;
}

export function historyOf({ nodes, code }: RunState): History<Payload> {
  const placed: Placed[] = [];
  const kept: History<Payload>['kept'][number][] = [];
  const open: OpenStep[] = [];
  for (const [, node] of nodes.entries()) {
    const step = 'step' in node ? node.step : undefined;
    const begunBy = step === undefined ? undefined : begunIn(node);
    if (step === undefined || step.kind === 'drive' || begunBy === undefined) continue;
    const result = isOpen(node) ? undefined : resultOf(node);
    if (code !== undefined && begunBy <= code.since) {
      if (result?.status === 'completed')
        kept.push({ key: step.key, step: step.kind, output: result.output, endedAt: result.endedAt });
      continue;
    }
    placed.push({ at: begunBy, entry: asked(step) });
    if (result !== undefined && !isOpen(node))
      placed.push({ at: node.endedBy, entry: { kind: 'settled', key: step.key, result } });
    const at = openAt(node, step);
    if (at !== undefined) open.push(at);
  }
  return {
    entries: placed.toSorted((one, other) => one.at - other.at).map(({ entry }) => entry),
    kept,
    open,
    attempt: code?.attempt ?? firstAttempt,
    stepAttempts: code?.stepAttempts ?? 0,
    ...(code?.ending === undefined ? {} : { ending: code.ending }),
  };
}

const begunIn = (node: NodeState): EventId | undefined =>
  isOpen(node) ? node.pinnedAt : 'begunBy' in node ? node.begunBy : undefined;

const asked = ({ kind, key, target }: StepMark): HistoryEntry<Payload> => ({
  kind: 'asked',
  key,
  step: kind,
  ...(target === undefined ? {} : { target }),
});

function resultOf(node: EndedNode): StepResult<Payload> | undefined {
  if (node.status === 'completed') return { status: 'completed', output: node.output, endedAt: node.endedAt };
  if (node.status === 'failed' || node.status === 'timed_out')
    return { status: 'failed', failure: node.failure, endedAt: node.endedAt };
  return undefined;
}

/** Waits move by themselves; what a drive has to see to is the rest. */
function openAt(node: NodeState, { key }: StepMark): OpenStep | undefined {
  if (!isOpen(node) || node.status === 'waiting') return undefined;
  const { attempt, dispatchedIn: askedIn, lost = 0 } = node;
  const retryAt = node.status === 'queued' ? node.notBefore : undefined;
  return { key, attempt, askedIn, lost, ...(retryAt === undefined ? {} : { retryAt }) };
}
