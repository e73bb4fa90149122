/** The whole truth about one run, as its log says it now. */
import type { RunAddress } from '../engine/ids.ts';
import { type IterationKey, firstAttempt, nodeKey, topLevel } from '../engine/ids.ts';
import type { PlanNode } from '../engine/graph/plan.ts';
import type { JsonValue, Payload } from '../engine/json.ts';
import { type RunProgress, type RunState, type Spent, isTerminal, waitsForPlace } from '../engine/log/fold.ts';
import { type Head, pinnedVersion } from '../engine/log/head.ts';
import { type NodeState, isOpen } from '../engine/log/node-state.ts';
import type { Decider } from './decide-run.ts';
import { load } from './payloads.ts';
import { readRun } from './read-log.ts';

/** A value of the run, or how large it is where it did not fit the answer. */
export type Shown = { readonly value: JsonValue } | { readonly omittedBytes: number };

export interface ShownNode {
  readonly node: Pick<PlanNode, 'id' | 'type' | 'label'>;
  /** the pass of a loop that it is in; absent outside all loops */
  readonly iteration?: IterationKey;
  /** absent: it has not begun, and in an ended run it never will */
  readonly state?: NodeState;
  readonly output?: Shown;
  /** a test said what it ends with */
  readonly isPinned?: true;
}

export interface RunView {
  readonly head: Head;
  readonly progress: RunProgress;
  /** so many runs of its workflow may be at work, and it waits until it is one of them */
  readonly waitsAmong?: number;
  /** of its budget, where it has one or not */
  readonly spent: Spent;
  readonly input?: Shown;
  readonly output?: Shown;
  /**
   * in the order of the definition, those in the body of a loop once for each pass under way, 500 at most; of a fetch run
   * its messages, in the order of their sending
   */
  readonly nodes: readonly ShownNode[];
  /** of a run of code: so many more have ended, before those that are shown */
  readonly nodesOmitted?: number;
  readonly lastEventId: number;
}

export type GetRunAnswer = { readonly kind: 'found'; readonly run: RunView } | { readonly kind: 'not_found' };

/** A function's answer holds at most 6 MB; the rest of a run is small against the difference. */
const largestValuesBytes = 4_194_304;

/** @param withValues false leaves input and outputs away, and reads none of them */
export async function getRun(
  { deps, plans }: Pick<Decider, 'deps' | 'plans'>,
  address: RunAddress,
  withValues: boolean,
): Promise<GetRunAnswer> {
  const fold = await readRun(deps, address);
  if (fold === undefined) return { kind: 'not_found' };
  const { head, state } = fold;
  const plan = head.kind === 'graph' ? await plans.of(deps, address, pinnedVersion(head)) : undefined;
  const all =
    plan === undefined ? (head.kind === 'code' ? stepsOf(state) : messagesOf(state)) : namedIn(state, [...plan.nodes.values()]);
  const named = plan === undefined ? latestOf(state, all) : all;

  const budget = { bytes: withValues ? largestValuesBytes : 0 };
  const shown = async (payload: Payload | undefined): Promise<Shown | undefined> => {
    if (payload === undefined || !withValues) return undefined;
    const bytes = 'ref' in payload ? payload.bytes : Buffer.byteLength(JSON.stringify(payload.value));
    if (bytes > budget.bytes) return { omittedBytes: bytes };
    // Taken before anything is awaited: which values fit depends on their order alone.
    budget.bytes -= bytes;
    return { value: 'ref' in payload ? await load(deps, address, payload.ref) : payload.value };
  };

  const input = shown(state.written.get('input')?.at(-1)?.payload);
  const output = shown(state.progress.status === 'completed' ? state.progress.output : undefined);
  const nodes = named.map(async ({ node, iteration }: Named): Promise<ShownNode> => {
    const known = state.nodes.get(nodeKey({ nodeId: node.id, iteration }));
    const value = await shown(known?.status === 'completed' ? known.output : undefined);
    return {
      node,
      ...(iteration === topLevel ? {} : { iteration }),
      ...(known === undefined ? {} : { state: known }),
      ...(value === undefined ? {} : { output: value }),
      ...(plan?.pinned?.has(node.id) === true ? { isPinned: true as const } : {}),
    };
  });
  const [givenInput, givenOutput, given] = await Promise.all([input, output, Promise.all(nodes)]);
  return {
    kind: 'found',
    run: {
      head,
      progress: state.progress,
      spent: state.spent,
      ...(state.admission !== undefined && waitsForPlace(state) ? { waitsAmong: state.admission.places } : {}),
      ...(givenInput === undefined ? {} : { input: givenInput }),
      ...(givenOutput === undefined ? {} : { output: givenOutput }),
      nodes: given,
      ...(named.length === all.length ? {} : { nodesOmitted: all.length - named.length }),
      lastEventId: state.nextEventId - 1,
    },
  };
}

/** A fetch run has no definition: it was sent what its log says. */
const messagesOf = (state: RunState): readonly Named[] =>
  [...state.nodes.entries()].map(([, { nodeId }]) => ({ node: { id: nodeId, type: 'message' }, iteration: topLevel }));

/** What the code of a code run asked for, by its keys. A drive is no step of anybody's, but one that was put off holds the run up. */
const stepsOf = (state: RunState): readonly Named[] =>
  [...state.nodes.entries()].flatMap(([, node]) => {
    const step = 'step' in node ? node.step : undefined;
    if (step === undefined || (step.kind === 'drive' && !isPutOff(node))) return [];
    return [{ node: { id: node.nodeId, type: step.kind, label: step.key }, iteration: topLevel }];
  });

const isPutOff = (node: NodeState): boolean => isOpen(node) && node.attempt > firstAttempt;

/** Code asks for up to 25,000 steps: all of them would be more than a function may answer. The events have every one. */
export const mostShownSteps = 1_000;

/** What is open, and of the rest what was asked for last, in the order of asking. */
function latestOf(state: RunState, all: readonly Named[]): readonly Named[] {
  if (all.length <= mostShownSteps) return all;
  const isOpenNow = ({ node, iteration }: Named): boolean => state.open.has(nodeKey({ nodeId: node.id, iteration }));
  const open = new Set(all.filter(isOpenNow).slice(0, mostShownSteps));
  const ended = all.filter((named) => !open.has(named));
  const latest = new Set(ended.slice(ended.length - (mostShownSteps - open.size)));
  return all.filter((named) => open.has(named) || latest.has(named));
}

interface Named {
  readonly node: ShownNode['node'];
  readonly iteration: IterationKey;
}

/** A loop has up to a thousand passes under way, and a body many nodes: an answer shows so many of them at most. */
export const mostShownInPasses = 500;

/** A pass that has ended left its result and its events, and is not shown among the nodes. */
function namedIn(state: RunState, nodes: readonly PlanNode[]): readonly Named[] {
  const inPasses = Map.groupBy(
    [...state.nodes.entries()]
      .filter(([, { iteration }]) => iteration !== topLevel)
      .slice(0, mostShownInPasses)
      .map(([, { nodeId, iteration }]) => ({ nodeId, iteration })),
    ({ nodeId }) => nodeId,
  );
  return nodes.flatMap((node) => {
    if (node.loop === undefined) return [{ node, iteration: topLevel }];
    return (inPasses.get(node.id) ?? []).map(({ iteration }) => ({ node, iteration }));
  });
}

/** What a node without a state is: still to come, or cut off by the end of the run. */
export const statusWithoutState = (progress: RunProgress): 'pending' | 'cancelled' =>
  isTerminal(progress) ? 'cancelled' : 'pending';
