/** Reads the current state of one run from its log. */
import { defined } from '../../base/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { type IterationKey, type NodeRef, nodeKey, topLevel } from '../../engine/ids.ts';
import type { PlanNode } from '../../engine/graph/plan.ts';
import type { JsonValue, Payload } from '../../engine/json.ts';
import { type RunProgress, type RunState, type BudgetUsage, isTerminal, isWaitingForSlot } from '../../engine/log/fold.ts';
import type { Head } from '../../engine/log/head.ts';
import type { NodeState } from '../../engine/log/node-state.ts';
import { withRecordedStart, withStepStart } from '../../engine/log/open-nodes.ts';
import { type Decider, kindOf } from '../decider.ts';
import { loadPayload } from '../run-log/payloads.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';
import { readRecordedStarts } from '../run-log/recorded-starts.ts';

/** A value of the run, or its size if it does not fit the response. */
export type ShownValue = { readonly value: JsonValue } | { readonly omittedBytes: number };

export interface ShownNode {
  readonly node: Pick<PlanNode, 'id' | 'type' | 'label'>;
  /** the loop iteration of the node; absent outside loops */
  readonly iteration?: IterationKey;
  /** absent: the node has not been dispatched */
  readonly state?: NodeState;
  readonly output?: ShownValue;
  /** a test run pinned its output */
  readonly isPinned?: true;
}

export interface RunView {
  readonly head: Head;
  readonly progress: RunProgress;
  /** the run waits for one of this number of concurrency slots */
  readonly waitingForSlots?: number;
  /** the node whose failure ended the run */
  readonly rootCause?: FailedNode;
  /** usage, also for a run without a budget */
  readonly spent: BudgetUsage;
  readonly input?: ShownValue;
  readonly output?: ShownValue;
  /**
   * In the order of the definition. Nodes in the body of a loop appear once for each open iteration, at most 500. For a bundle run:
   * its messages in the order of sending.
   */
  readonly nodes: readonly ShownNode[];
  /** for a code run: the number of earlier, ended steps that are not shown */
  readonly nodesOmitted?: number;
  readonly lastEventId: number;
  /** writes to the log */
  readonly commits: number;
}

export type FailedNode = Extract<NodeState, { failure: unknown }>;

export type GetRunResult = { readonly kind: 'found'; readonly run: RunView } | { readonly kind: 'not_found' };

/** A Lambda response has at most 6 MB; the difference is enough for the rest of the run. */
export const maxValuesBytes = 4_194_304;

/** @param withValues false omits input and outputs, and does not read them */
export async function getRun(
  decider: Pick<Decider, 'deps' | 'plans' | 'kinds'>,
  address: RunAddress,
  withValues: boolean,
): Promise<GetRunResult> {
  const { deps } = decider;
  const fold = await readRunFold(deps, address);
  if (fold === undefined) return { kind: 'not_found' };
  const { head, state } = fold;
  const { shown: named, omitted, rootCause } = await kindOf(decider, head).present(decider, fold);
  const starts = await readRecordedStarts(deps, head.address, state);

  const budget = { bytes: withValues ? maxValuesBytes : 0 };
  const shown = async (payload: Payload | undefined): Promise<ShownValue | undefined> => {
    if (payload === undefined || !withValues) return undefined;
    const bytes = 'ref' in payload ? payload.bytes : Buffer.byteLength(JSON.stringify(payload.value));
    if (bytes > budget.bytes) return { omittedBytes: bytes };
    // Deducted before the first await, so that only the order of the values decides which ones fit.
    budget.bytes -= bytes;
    return { value: 'ref' in payload ? await loadPayload(deps, address, payload.ref) : payload.value };
  };

  const input = shown(state.contextWrites.get('input')?.at(-1)?.payload);
  const output = shown(state.progress.status === 'completed' ? state.progress.output : undefined);
  const nodes = named.map(async ({ node, iteration, isPinned }: NamedNode): Promise<ShownNode> => {
    const key = nodeKey({ nodeId: node.id, iteration });
    const nodeState = withRecordedStart(withStepStart(state.nodes.get(key), deps.clock.now()), starts.get(key));
    const value = await shown(nodeState?.status === 'completed' ? nodeState.output : undefined);
    return defined({
      node,
      iteration: iteration === topLevel ? undefined : iteration,
      state: nodeState,
      output: value,
      isPinned,
    });
  });
  const [inputValue, outputValue, nodeViews] = await Promise.all([input, output, Promise.all(nodes)]);
  return {
    kind: 'found',
    run: defined({
      head,
      progress: state.progress,
      spent: state.budgetUsage,
      rootCause: failedNodeAt(state, rootCause),
      waitingForSlots: state.admission !== undefined && isWaitingForSlot(state) ? state.admission.slots : undefined,
      input: inputValue,
      output: outputValue,
      nodes: nodeViews,
      nodesOmitted: omitted === 0 ? undefined : omitted,
      lastEventId: state.nextEventId - 1,
      commits: state.asOf,
    }),
  };
}

const failedNodeAt = ({ nodes }: RunState, ref: NodeRef | undefined): FailedNode | undefined => {
  const node = ref === undefined ? undefined : nodes.get(nodeKey(ref));
  return node?.status === 'failed' || node?.status === 'timed_out' ? node : undefined;
};

/** Maximum number of steps in a response. A code run has up to 25,000 steps; the events contain all of them. */
export const maxShownSteps = 1_000;

/** The open steps and the latest ended ones, in the order of dispatch. */
export function latestOf(state: RunState, all: readonly NamedNode[]): PresentedNodes {
  if (all.length <= maxShownSteps) return { shown: all, omitted: 0 };
  const isOpenNow = ({ node, iteration }: NamedNode): boolean => state.open.has(nodeKey({ nodeId: node.id, iteration }));
  const open = new Set(all.filter(isOpenNow).slice(0, maxShownSteps));
  const ended = all.filter((named) => !open.has(named));
  const latest = new Set(ended.slice(ended.length - (maxShownSteps - open.size)));
  return { shown: all.filter((named) => open.has(named) || latest.has(named)), omitted: all.length - open.size - latest.size };
}

export interface NamedNode {
  readonly node: ShownNode['node'];
  readonly iteration: IterationKey;
  /** a test run pinned its output */
  readonly isPinned?: true | undefined;
}

export interface PresentedNodes {
  readonly shown: readonly NamedNode[];
  /** number of ended nodes that are not shown */
  readonly omitted: number;
  /** the node whose failure ended the run; absent: the run has not failed because of a node */
  readonly rootCause?: NodeRef;
}

/** Maximum number of loop body nodes in a response. A loop has up to 1,000 open iterations with many nodes each. */
export const maxShownIterationNodes = 500;

/** The status of a node without a state: pending, or cancelled if the run has ended. */
export const statusWithoutState = (progress: RunProgress): 'pending' | 'cancelled' =>
  isTerminal(progress) ? 'cancelled' : 'pending';
