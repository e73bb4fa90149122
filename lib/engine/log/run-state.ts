/** What a run has come to, and how its parts are written down. The fold (`fold.ts`) says what each event writes. */
import {
  type Attempt,
  type CommitNo,
  type EventId,
  type IterationKey,
  type NodeKey,
  type NodeRef,
  eventId,
  nodeKey,
  passKey,
  topLevel,
} from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { Payload } from '../json.ts';
import type { Instant } from '../time.ts';
import type { CodeState } from './code-state.ts';
import type { Failure, TokenCount } from './events.ts';
import { LayeredMap } from './layered-map.ts';
import type { Pass } from './loop-state.ts';
import { type NodeState, type OpenNode, isOpen } from './node-state.ts';

/** One writing of a context key: what a view as of a later event sees. */
export interface Written {
  readonly by: EventId;
  readonly payload: Payload;
}

export type RunProgress =
  | { readonly status: 'pending' }
  | { readonly status: 'running'; readonly startedAt: Instant }
  | { readonly status: 'completed'; readonly endedAt: Instant; readonly output: Payload }
  | { readonly status: 'failed'; readonly endedAt: Instant; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly endedAt: Instant; readonly reason?: string };

/** What the run has used up, for its budget. It follows from the events alone, so nothing is counted twice or missed. */
export interface Spent {
  /** attempts that workers were asked for, the repetitions too, and runs that were called */
  readonly executions: number;
  /** input and output tokens that models reported, those of failed attempts too */
  readonly tokens: number;
}

/** Of a run whose workflow limits how many are at work. */
export interface Admission {
  /** it may have one of those below this */
  readonly places: number;
  /** when it was to start: who came first is let in first */
  readonly since: Instant;
  readonly notBefore?: Instant;
  /** absent: it waits for one, or has ended without one */
  readonly place?: number;
}

export interface RunState {
  /** the last commit folded; 0 before the first */
  asOf: CommitNo | 0;
  nextEventId: EventId;
  progress: RunProgress;
  spent: Spent;
  /** absent: nobody limits it */
  admission?: Admission;
  /** absent: the run is none of code that is replayed */
  code?: CodeState;
  readonly nodes: LayeredMap<NodeKey, NodeState>;
  /** the nodes that have begun and not ended */
  readonly open: LayeredMap<NodeKey, true>;
  readonly written: LayeredMap<string, readonly Written[]>;
  /** the passes of loops that are under way */
  readonly passes: LayeredMap<IterationKey, Pass>;
}

export const emptyState = (): RunState => ({
  asOf: 0,
  nextEventId: eventId(1),
  progress: { status: 'pending' },
  spent: { executions: 0, tokens: 0 },
  nodes: new LayeredMap(),
  open: new LayeredMap(),
  written: new LayeredMap(),
  passes: new LayeredMap(),
});

/** A copy in constant time whose changes do not reach the original. */
export const fork = (state: RunState): RunState => ({
  ...state,
  nodes: state.nodes.fork(),
  open: state.open.fork(),
  written: state.written.fork(),
  passes: state.passes.fork(),
});

export const isTerminal = (progress: RunProgress): progress is Exclude<RunProgress, { status: 'pending' | 'running' }> =>
  progress.status !== 'pending' && progress.status !== 'running';

/** Nothing of it has begun, and nothing may before it has a place. */
export const waitsForPlace = ({ progress, admission }: RunState): boolean =>
  admission !== undefined && admission.place === undefined && !isTerminal(progress);

/** The nodes that have begun and not ended. */
export const openNodes = ({ nodes, open }: RunState): readonly OpenNode[] =>
  [...open.keys()].map((key) => {
    const node = nodes.get(key);
    invariant(node !== undefined && isOpen(node), () => `${key} is open and has no state`);
    return node;
  });

/** Which commit and when: what the events of one commit share. */
export interface Stamp {
  readonly commit: CommitNo;
  readonly at: Instant;
}

/** The node, which must be open and at this attempt. */
export function running(node: NodeState | undefined, attempt: Attempt, ref: NodeRef): OpenNode {
  invariant(node !== undefined && isOpen(node), () => `${nodeKey(ref)} has not begun`);
  invariant(node.attempt === attempt, () => `${nodeKey(ref)} is at attempt ${node.attempt}, not ${attempt}`);
  return node;
}

export function put(state: RunState, node: OpenNode): void {
  const key = nodeKey(node);
  countIn(state, node, 1);
  state.nodes.set(key, node);
  state.open.set(key, true);
}

export function end(state: RunState, node: Exclude<NodeState, OpenNode>): void {
  const key = nodeKey(node);
  countIn(state, node, 0);
  state.nodes.set(key, node);
  state.open.delete(key);
}

/** A pass knows its nodes, and how many of them are open. */
function countIn(state: RunState, node: NodeState, openNow: 0 | 1): void {
  if (node.iteration === topLevel) return;
  const key = nodeKey(node);
  const pass = passOf(state, node.iteration);
  const members = state.nodes.has(key) ? pass.members : [...pass.members, key];
  const openBefore = state.open.has(key) ? 1 : 0;
  state.passes.set(node.iteration, { ...pass, members, open: pass.open + openNow - openBefore });
}

export function passOf(state: RunState, iteration: IterationKey): Pass {
  const pass = state.passes.get(iteration);
  invariant(pass !== undefined, () => `the pass ${iteration} is not under way`);
  return pass;
}

/** What a node writes inside a pass is seen inside that pass alone. */
export function write(state: RunState, iteration: IterationKey, key: string, by: EventId, payload: Payload): void {
  if (iteration === topLevel) {
    state.written.set(key, [...(state.written.get(key) ?? []), { by, payload }]);
    return;
  }
  const pass = passOf(state, iteration);
  const before = Object.hasOwn(pass.written, key) ? pass.written[key] : undefined;
  state.passes.set(iteration, { ...pass, written: { ...pass.written, [key]: [...(before ?? []), { by, payload }] } });
}

/** Forgets the pass, and every pass inside it. */
export function dropPass(state: RunState, iteration: IterationKey): void {
  for (const key of passOf(state, iteration).members) {
    const node = state.nodes.get(key);
    if (node !== undefined) dropPassesOf(state, node);
    state.nodes.delete(key);
    state.open.delete(key);
  }
  state.passes.delete(iteration);
}

/** What is still under way of a loop that ends is not wanted any more. */
export function dropPassesOf(state: RunState, node: NodeState): void {
  if (node.status !== 'waiting' || node.for !== 'passes') return;
  for (const index of node.loop.open) dropPass(state, passKey(node, index));
}

export const countExecution = (state: RunState): void => {
  state.spent = { ...state.spent, executions: state.spent.executions + 1 };
};

export const countTokens = (state: RunState, { tokens }: { readonly tokens?: TokenCount }): void => {
  if (tokens !== undefined) state.spent = { ...state.spent, tokens: state.spent.tokens + tokens.input + tokens.output };
};
