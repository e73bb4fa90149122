/**
 * What one node of a run saw and did: the context and the inputs of its dispatch, its config after templates, and each attempt. The log
 * is read from its start up to the end of the node, because the fold forgets an iteration when it ends.
 */
import { defined } from '../../base/defined.ts';
import type { PlanNode } from '../../engine/graph/plan.ts';
import { type NodeRef, type RunAddress, firstCommit, nodeKey } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type RunState, applyCommit, applyEvent, emptyState, fork } from '../../engine/log/fold.ts';
import { type Head, pinnedVersion } from '../../engine/log/head.ts';
import { type NodeAttempt, NodeHistory } from '../../engine/log/node-history.ts';
import type { NodeState } from '../../engine/log/node-state.ts';
import { withRecordedStart, withStepStart } from '../../engine/log/open-nodes.ts';
import type { Decider } from '../decider.ts';
import { readWindows } from '../run-log/read-windows.ts';
import { readRecordedStarts } from '../run-log/recorded-starts.ts';
import { type ShownNode, type ShownValue, maxValuesBytes } from './get-run.ts';
import { seenByNode, shownPayload } from './seen-by-node.ts';

export interface RunNodeView {
  readonly node: ShownNode;
  readonly runHasEnded: boolean;
  /** of a graph run: `ctx` as of the dispatch; absent: the node has not been dispatched */
  readonly context?: ShownValue;
  /** the values of its edges, by label, with the fields of the run's input */
  readonly inputs?: ShownValue;
  /** after templates; a secret stays the template that names it */
  readonly config?: ShownValue;
  readonly attempts: readonly NodeAttempt[];
  /** earlier attempts that are not shown */
  readonly attemptsOmitted: number;
  readonly lastEventId: number;
}

export type RunNodeResult =
  | { readonly kind: 'found'; readonly view: RunNodeView }
  | { readonly kind: 'not_found' }
  /** the graph has no such node, or no event of the log names it */
  | { readonly kind: 'node_not_found' };

/** Maximum number of attempts in a response; a step of code may have more. */
export const maxShownAttempts = 100;

interface Deciding extends Pick<Decider, 'deps' | 'plans'> {
  /** the keys of a node's config in which `{{` begins a template */
  readonly templateKeysOf: (node: Pick<PlanNode, 'type' | 'config'>) => readonly string[];
}

export async function getRunNode(
  decider: Deciding,
  run: RunAddress,
  { attempt, ...ref }: NodeRef & { readonly attempt?: number },
): Promise<RunNodeResult> {
  const { deps } = decider;
  const head = await deps.log.head(run);
  if (head === undefined) return { kind: 'not_found' };
  const plan = head.kind === 'graph' ? await decider.plans.of(deps, run, pinnedVersion(head)) : undefined;
  const planNode = plan?.nodes.get(ref.nodeId);
  if (plan !== undefined && planNode === undefined) return { kind: 'node_not_found' };
  const replayed = await replayUntilEnd(deps, head, ref);
  const { state, history, atDispatch } = replayed;
  const nodeState = await stateOf(deps, head, ref, replayed);
  if (planNode === undefined && nodeState === undefined && !history.isKnown) return { kind: 'node_not_found' };

  const budget = { bytes: maxValuesBytes };
  const output = nodeState?.status === 'completed' ? await shownPayload(deps, run, nodeState.output, budget) : undefined;
  const seen =
    plan === undefined || planNode === undefined || atDispatch === undefined
      ? {}
      : await seenByNode(
          deps,
          run,
          { plan, node: planNode, ref, state: atDispatch, templateKeys: decider.templateKeysOf(planNode) },
          budget,
        );
  const matching = history.attempts(nodeState).filter(({ number }) => attempt === undefined || number === attempt);
  return {
    kind: 'found',
    view: defined({
      node: {
        node: planNode ?? history.stepNode(ref.nodeId),
        ...(ref.iteration === '' ? {} : { iteration: ref.iteration }),
        ...defined({ state: nodeState, output, isPinned: plan?.pinned?.has(ref.nodeId) === true ? (true as const) : undefined }),
      },
      runHasEnded: state.progress.status !== 'pending' && state.progress.status !== 'running',
      ...seen,
      attempts: matching.slice(-maxShownAttempts),
      attemptsOmitted: Math.max(0, matching.length - maxShownAttempts),
      lastEventId: state.nextEventId - 1,
    }),
  };
}

interface Replayed {
  /** up to the end of the node, or of the log */
  readonly state: RunState;
  readonly history: NodeHistory;
  /** as it was before the first event of the node */
  readonly atDispatch: RunState | undefined;
}

async function replayUntilEnd(deps: Decider['deps'], head: Head, ref: NodeRef): Promise<Replayed> {
  const state = emptyState();
  const history = new NodeHistory(ref);
  let atDispatch: RunState | undefined;
  const fold = (commit: Commit): void => {
    if (atDispatch === undefined) {
      const index = commit.events.findIndex((event) => history.names(event));
      if (index !== -1) atDispatch = stateBefore(state, commit, index);
    }
    applyCommit(state, commit);
    history.add(commit);
  };
  fold(head.commit);
  for await (const { commits } of readWindows(deps, head.address, { from: firstCommit, events: eventsPerWindow })) {
    for (const commit of commits) fold(commit);
    if (history.hasEnded) break;
  }
  return { state, history, atDispatch };
}

const eventsPerWindow = 500;

/** A fork, so that later commits do not change it. */
function stateBefore(state: RunState, commit: Commit, index: number): RunState {
  const draft = fork(state);
  for (const event of commit.events.slice(0, index)) applyEvent(draft, event, { commit: commit.number, at: commit.at });
  return fork(draft);
}

/** The state in the fold, also of an attempt whose start no commit records. The fold has dropped the nodes of an ended iteration. */
async function stateOf(
  deps: Decider['deps'],
  { address }: Head,
  ref: NodeRef,
  { state, history }: Replayed,
): Promise<NodeState | undefined> {
  const key = nodeKey(ref);
  const folded = state.nodes.get(key) ?? history.lastState;
  if (folded?.status !== 'queued') return folded;
  const starts = await readRecordedStarts(deps, address, state, (node) => nodeKey(node) === key);
  return withRecordedStart(withStepStart(folded, deps.clock.now()), starts.get(key));
}
