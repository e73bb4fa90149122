/**
 * What one node of a run saw and did: the context and the inputs of its dispatch, its config after templates, and each attempt. The log
 * is read from its start up to the end of the node, because the fold forgets an iteration when it ends.
 */
import { defined } from '../../base/defined.ts';
import { contextAt } from '../../engine/graph/context.ts';
import { nodeInputOf } from '../../engine/graph/inputs.ts';
import { ContextTooLarge, payloadLimits } from '../../engine/graph/payload-limits.ts';
import type { Plan, PlanNode } from '../../engine/graph/plan.ts';
import { resolveTemplate, secretsOf } from '../../engine/graph/template.ts';
import { WorkLimitExceeded } from '../../engine/graph/work-limits.ts';
import { type NodeRef, type RunAddress, firstCommit, nodeKey } from '../../engine/ids.ts';
import type { JsonObject, JsonValue, Payload } from '../../engine/json.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type RunState, applyCommit, applyEvent, emptyState, fork } from '../../engine/log/fold.ts';
import { type Head, pinnedVersion } from '../../engine/log/head.ts';
import { type NodeAttempt, NodeHistory } from '../../engine/log/node-history.ts';
import type { NodeState } from '../../engine/log/node-state.ts';
import { withRecordedStart, withStepStart } from '../../engine/log/open-nodes.ts';
import type { Decider } from '../decider.ts';
import { loadPayload, withPayloads } from '../run-log/payloads.ts';
import { readWindows } from '../run-log/read-windows.ts';
import { readRecordedStarts } from '../run-log/recorded-starts.ts';
import { type ShownNode, type ShownValue, maxValuesBytes } from './get-run.ts';

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
  const output = nodeState?.status === 'completed' ? await shownPayload(decider, run, nodeState.output, budget) : undefined;
  const seen =
    plan === undefined || planNode === undefined || atDispatch === undefined
      ? {}
      : await seenBy(decider, run, { plan, node: planNode, ref, state: atDispatch }, budget);
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

interface Budget {
  bytes: number;
}

const sizeOf = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value));

function shownWithin(budget: Budget, value: JsonValue): ShownValue {
  const bytes = sizeOf(value);
  if (bytes > budget.bytes) return { omittedBytes: bytes };
  budget.bytes -= bytes;
  return { value };
}

async function shownPayload({ deps }: Deciding, run: RunAddress, payload: Payload, budget: Budget): Promise<ShownValue> {
  if ('value' in payload) return shownWithin(budget, payload.value);
  if (payload.bytes > budget.bytes) return { omittedBytes: payload.bytes };
  return shownWithin(budget, await loadPayload(deps, run, payload.ref));
}

interface Dispatched {
  readonly plan: Plan;
  readonly node: PlanNode;
  readonly ref: NodeRef;
  readonly state: RunState;
}

/** In the order in which a reader needs them: what does not fit the response any more is omitted. */
async function seenBy(decider: Deciding, run: RunAddress, dispatched: Dispatched, budget: Budget) {
  const { plan, node, ref, state } = dispatched;
  const read = async (compute: (loaded: Parameters<typeof nodeInputOf>[5]) => JsonValue): Promise<ShownValue> => {
    try {
      return shownWithin(budget, await withPayloads(decider.deps, run, compute));
    } catch (error) {
      if (error instanceof ContextTooLarge || error instanceof WorkLimitExceeded)
        return { omittedBytes: payloadLimits.contextBytes };
      throw error;
    }
  };
  const config = await read((loaded) => {
    const context = contextAt(state, ref.iteration, state.nextEventId, loaded);
    const templates = new Set(decider.templateKeysOf(node));
    const secrets = new Map(secretsOf(node.config).map(({ name }) => [name, `{{secret:${name}}}`]));
    const entries = Object.entries(node.config);
    return Object.fromEntries(
      entries.map(([key, value]) => [key, templates.has(key) ? resolveTemplate(value, context, secrets) : value]),
    ) satisfies JsonObject;
  });
  const inputs = await read((loaded) => nodeInputOf(plan, node, ref.iteration, state, state.nextEventId, loaded).inputs);
  const context = await read((loaded) => contextAt(state, ref.iteration, state.nextEventId, loaded).all());
  return { config, inputs, context };
}
