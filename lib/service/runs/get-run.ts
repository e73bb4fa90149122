/** The whole truth about one run, as its log says it now. */
import { defined } from '../../engine/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { type IterationKey, firstAttempt, nodeKey, topLevel } from '../../engine/ids.ts';
import type { PlanNode } from '../../engine/graph/plan.ts';
import type { JsonValue, Payload } from '../../engine/json.ts';
import { type RunProgress, type RunState, type BudgetUsage, isTerminal, isWaitingForSlot } from '../../engine/log/fold.ts';
import { type Head, pinnedVersion } from '../../engine/log/head.ts';
import { type NodeState, isOpen } from '../../engine/log/node-state.ts';
import type { Decider } from '../commit/decide-run.ts';
import { loadPayload } from '../run-log/payloads.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';

/** A value of the run, or how large it is where it did not fit the answer. */
export type ShownValue = { readonly value: JsonValue } | { readonly omittedBytes: number };

export interface ShownNode {
  readonly node: Pick<PlanNode, 'id' | 'type' | 'label'>;
  /** the pass of a loop that it is in; absent outside all loops */
  readonly iteration?: IterationKey;
  /** absent: it has not begun, and in an ended run it never will */
  readonly state?: NodeState;
  readonly output?: ShownValue;
  /** a test said what it ends with */
  readonly isPinned?: true;
}

export interface RunView {
  readonly head: Head;
  readonly progress: RunProgress;
  /** so many runs of its workflow may be at work, and it waits until it is one of them */
  readonly waitingForSlots?: number;
  /** of its budget, where it has one or not */
  readonly spent: BudgetUsage;
  readonly input?: ShownValue;
  readonly output?: ShownValue;
  /**
   * in the order of the definition, those in the body of a loop once for each pass under way, 500 at most; of a fetch run
   * its messages, in the order of their sending
   */
  readonly nodes: readonly ShownNode[];
  /** of a run of code: so many more have ended, before those that are shown */
  readonly nodesOmitted?: number;
  readonly lastEventId: number;
}

export type GetRunResult = { readonly kind: 'found'; readonly run: RunView } | { readonly kind: 'not_found' };

/** A function's answer holds at most 6 MB; the rest of a run is small against the difference. */
const maxValuesBytes = 4_194_304;

/** @param withValues false leaves input and outputs away, and reads none of them */
export async function getRun(
  { deps, plans }: Pick<Decider, 'deps' | 'plans'>,
  address: RunAddress,
  withValues: boolean,
): Promise<GetRunResult> {
  const fold = await readRunFold(deps, address);
  if (fold === undefined) return { kind: 'not_found' };
  const { head, state } = fold;
  const plan = head.kind === 'graph' ? await plans.of(deps, address, pinnedVersion(head)) : undefined;
  const all =
    plan === undefined
      ? head.kind === 'code'
        ? stepsOf(state)
        : messagesOf(state)
      : graphNodesOf(state, [...plan.nodes.values()]);
  const named = plan === undefined ? latestOf(state, all) : all;

  const budget = { bytes: withValues ? maxValuesBytes : 0 };
  const shown = async (payload: Payload | undefined): Promise<ShownValue | undefined> => {
    if (payload === undefined || !withValues) return undefined;
    const bytes = 'ref' in payload ? payload.bytes : Buffer.byteLength(JSON.stringify(payload.value));
    if (bytes > budget.bytes) return { omittedBytes: bytes };
    // Taken before anything is awaited: which values fit depends on their order alone.
    budget.bytes -= bytes;
    return { value: 'ref' in payload ? await loadPayload(deps, address, payload.ref) : payload.value };
  };

  const input = shown(state.contextWrites.get('input')?.at(-1)?.payload);
  const output = shown(state.progress.status === 'completed' ? state.progress.output : undefined);
  const nodes = named.map(async ({ node, iteration }: NamedNode): Promise<ShownNode> => {
    const nodeState = state.nodes.get(nodeKey({ nodeId: node.id, iteration }));
    const value = await shown(nodeState?.status === 'completed' ? nodeState.output : undefined);
    return defined({
      node,
      iteration: iteration === topLevel ? undefined : iteration,
      state: nodeState,
      output: value,
      isPinned: plan?.pinned?.has(node.id) === true ? (true as const) : undefined,
    });
  });
  const [inputValue, outputValue, nodeViews] = await Promise.all([input, output, Promise.all(nodes)]);
  return {
    kind: 'found',
    run: defined({
      head,
      progress: state.progress,
      spent: state.budgetUsage,
      waitingForSlots: state.admission !== undefined && isWaitingForSlot(state) ? state.admission.slots : undefined,
      input: inputValue,
      output: outputValue,
      nodes: nodeViews,
      nodesOmitted: named.length === all.length ? undefined : all.length - named.length,
      lastEventId: state.nextEventId - 1,
    }),
  };
}

/** A fetch run has no definition: it was sent what its log says. */
const messagesOf = (state: RunState): readonly NamedNode[] =>
  [...state.nodes.entries()].map(([, { nodeId }]) => ({ node: { id: nodeId, type: 'message' }, iteration: topLevel }));

/** What the code of a code run asked for, by its keys. A drive is no step of anybody's, but one that was put off holds the run up. */
const stepsOf = (state: RunState): readonly NamedNode[] =>
  [...state.nodes.entries()].flatMap(([, node]) => {
    const step = 'step' in node ? node.step : undefined;
    if (step === undefined || (step.kind === 'workflow_task' && !isDeferred(node))) return [];
    return [{ node: { id: node.nodeId, type: step.kind, label: step.key }, iteration: topLevel }];
  });

const isDeferred = (node: NodeState): boolean => isOpen(node) && node.attempt > firstAttempt;

/** Code asks for up to 25,000 steps: all of them would be more than a function may answer. The events have every one. */
export const maxShownSteps = 1_000;

/** What is open, and of the rest what was asked for last, in the order of asking. */
function latestOf(state: RunState, all: readonly NamedNode[]): readonly NamedNode[] {
  if (all.length <= maxShownSteps) return all;
  const isOpenNow = ({ node, iteration }: NamedNode): boolean => state.open.has(nodeKey({ nodeId: node.id, iteration }));
  const open = new Set(all.filter(isOpenNow).slice(0, maxShownSteps));
  const ended = all.filter((named) => !open.has(named));
  const latest = new Set(ended.slice(ended.length - (maxShownSteps - open.size)));
  return all.filter((named) => open.has(named) || latest.has(named));
}

interface NamedNode {
  readonly node: ShownNode['node'];
  readonly iteration: IterationKey;
}

/** A loop has up to a thousand passes under way, and a body many nodes: an answer shows so many of them at most. */
export const maxShownIterationNodes = 500;

/** A pass that has ended left its result and its events, and is not shown among the nodes. */
function graphNodesOf(state: RunState, nodes: readonly PlanNode[]): readonly NamedNode[] {
  const iterationNodes = Map.groupBy(
    [...state.nodes.entries()]
      .filter(([, { iteration }]) => iteration !== topLevel)
      .slice(0, maxShownIterationNodes)
      .map(([, { nodeId, iteration }]) => ({ nodeId, iteration })),
    ({ nodeId }) => nodeId,
  );
  return nodes.flatMap((node) => {
    if (node.loop === undefined) return [{ node, iteration: topLevel }];
    return (iterationNodes.get(node.id) ?? []).map(({ iteration }) => ({ node, iteration }));
  });
}

/** What a node without a state is: still to come, or cut off by the end of the run. */
export const statusWithoutState = (progress: RunProgress): 'pending' | 'cancelled' =>
  isTerminal(progress) ? 'cancelled' : 'pending';
