/** Commits the events that follow from facts, without dispatching the effects of the commit. */
import type { LoadedPayloads } from '../../engine/graph/context.ts';
import { type NodeId, nodeKey, topLevel } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { Failure, RunEvent } from '../../engine/log/events.ts';
import type { RunState } from '../../engine/log/fold.ts';
import { metricsOf } from '../../engine/log/run-metrics.ts';
import type { Deps } from '../deps.ts';
import type { Decider } from '../decider.ts';
import { type AppendResult, append } from '../run-log/append.ts';
import { endRecordedWith } from './finalize-run.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** How facts become events; each run kind has its own. */
export interface Decision<DecidedFact> {
  /** The events that follow from the facts, or from as many of them as one commit holds. */
  readonly decide: (facts: readonly DecidedFact[], loaded: LoadedPayloads) => Decided;
  /** the events to commit when the decided events exceed a commit's size; absent: the run fails */
  readonly eventsWhenTooLarge?: (failure: Failure) => readonly RunEvent[];
  readonly nodeTypeOf?: NodeTypeOf;
}

interface Decided {
  readonly events: readonly RunEvent[];
  /** number of facts at the end that the next commit decides */
  readonly undecided: number;
}

/** The type of a graph's node, for metrics. Nodes of other runs are steps or messages. */
export type NodeTypeOf = (id: NodeId) => string | undefined;

export interface AppendedFacts<DecidedFact> {
  readonly appended: AppendResult;
  /** the facts that did not fit the commit; the caller commits them next */
  readonly undecided: readonly DecidedFact[];
}

export async function appendFacts<DecidedFact>(
  { deps, by, isAlreadyRecordedBy }: Decider,
  fold: RunFold,
  facts: readonly DecidedFact[],
  decision: Decision<DecidedFact>,
): Promise<AppendedFacts<DecidedFact>> {
  let undecided: readonly DecidedFact[] = [];
  const decideEvents = (loaded: LoadedPayloads): readonly RunEvent[] => {
    const decided = decision.decide(facts, loaded);
    undecided = facts.slice(facts.length - decided.undecided);
    return decided.events;
  };
  const appended = await append(deps, fold, by, decideEvents, {
    isAlreadyRecordedBy,
    eventsWhenTooLarge: decision.eventsWhenTooLarge,
    endWith: (commit) => endRecordedWith(deps, fold, commit),
  });
  if (appended.kind === 'committed') measureCommit(deps, fold, appended.commit, decision.nodeTypeOf);
  return { appended, undecided };
}

/** Emits the metrics of a commit that was won. If the process dies before this, the commit is not counted. */
export function measureCommit(
  { metrics }: Pick<Deps, 'metrics'>,
  { head, state }: RunFold,
  commit: Commit,
  nodeTypeOf: NodeTypeOf = () => undefined,
): void {
  if (!metrics.isOn) return;
  const measures = metricsOf(commit, {
    workflowName: head.workflow.name,
    createdAt: head.createdAt,
    state,
    typeOf: (id) => nodeTypeOf(id) ?? stepKindIn(state, id) ?? 'message',
  });
  if (measures.length > 0) metrics.emit(measures, commit.at);
}

function stepKindIn(state: RunState, nodeId: NodeId): string | undefined {
  const node = state.nodes.get(nodeKey({ nodeId, iteration: topLevel }));
  return node !== undefined && 'step' in node ? node.step?.kind : undefined;
}
