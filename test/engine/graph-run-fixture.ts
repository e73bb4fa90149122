/**
 * A graph run without a service: calls `decide`, folds its events as the next commit, and stores the log. Every decision is made
 * twice, because the same decision must have the same events.
 */
import { isDeepStrictEqual } from 'node:util';
import type { LoadedPayloads } from '../../lib/engine/graph/context.ts';
import { decide, decideStart } from '../../lib/engine/graph/decide.ts';
import type { DecideTools } from '../../lib/engine/graph/draft.ts';
import type { ChildEnd, Fact } from '../../lib/engine/graph/facts.ts';
import { nodeInputOf } from '../../lib/engine/graph/inputs.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import type { NodeInput } from '../../lib/engine/graph/plan.ts';
import {
  type NodeRef,
  attempt,
  commitNo,
  iterationKey,
  nodeId,
  nodeKey,
  nonce,
  runId,
  signalId,
  topLevel,
} from '../../lib/engine/ids.ts';
import type { JsonValue, Payload } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { Failure, RunEvent, RunEventType } from '../../lib/engine/log/events.ts';
import { type RunState, applyCommit, attemptOf, emptyState } from '../../lib/engine/log/fold.ts';
import { type NodeState, type OpenNode, isOpen } from '../../lib/engine/log/node-state.ts';
import { type DurationMs, type Instant, after, days, instant } from '../../lib/engine/time.ts';
import { childRunId } from '../../lib/service/commit/child-run-id.ts';
import { type Graph, finished } from './graph-builder.ts';

/** 2026-11-20T00:00:00Z; an arbitrary moment. */
export const dawn = instant(1_795_132_800_000);

export const theRun = runId('wrun_01KDVDNA0001ZPGCE7HQSG6B6B');

export interface Settings {
  readonly runsOneInline?: boolean;
  readonly deadlineAt?: Instant;
  readonly random?: number;
  readonly loaded?: LoadedPayloads;
}

export class GraphRunFixture {
  readonly graph: Graph;
  readonly state: RunState = emptyState();
  readonly commits: Commit[] = [];
  readonly #settings: Settings;
  now: Instant = dawn;

  constructor(graph: Graph, settings: Settings = {}) {
    this.graph = graph;
    this.#settings = settings;
  }

  get tools(): DecideTools {
    const { runsOneInline = false, deadlineAt = after(dawn, days(7)), random = 0, loaded = new Map() } = this.#settings;
    return {
      ...this.graph,
      runId: theRun,
      now: this.now,
      deadlineAt,
      random: () => random,
      loaded,
      childRunId: (node, attempt) => childRunId(theRun, node, attempt),
      runsOneInline,
    };
  }

  start(input: JsonValue | { readonly stored: Payload } = {}, startAt?: Instant): readonly RunEvent[] {
    const payload: Payload = isStored(input) ? input.stored : { value: input };
    return this.#commit(() => decideStart(payload, {}, this.tools, startAt));
  }

  /** Decides these facts in one commit; without events there is no commit. */
  decide(...facts: readonly Fact[]): readonly RunEvent[] {
    return this.#commit(() => decide(this.state, facts, this.tools));
  }

  ends(id: string, outcome: Outcome = finished(id)): readonly RunEvent[] {
    return this.decide(this.ended(id, outcome));
  }

  /** The fact that the node's current attempt ended now. */
  ended(id: string, outcome: Outcome = finished(id)): Extract<Fact, { kind: 'node-ended' }> {
    const ref = refOf(id);
    const number = attemptOf(this.state.nodes.get(nodeKey(ref)));
    return { kind: 'node-ended', node: ref, attempt: number, outcome, startedAt: this.now, endedAt: this.now, printed: [] };
  }

  started(id: string): Extract<Fact, { kind: 'node-started' }> {
    return { kind: 'node-started', node: refOf(id), attempt: attemptOf(this.node(id)), startedAt: this.now };
  }

  woken(id: string): Extract<Fact, { kind: 'node-woken' }> {
    return { kind: 'node-woken', node: refOf(id), attempt: attemptOf(this.node(id)) };
  }

  /** The end of the run that this node called. */
  childEnded(id: string, end: ChildEnd = { status: 'completed', output: { of: id } }): Extract<Fact, { kind: 'child-ended' }> {
    const node = this.node(id);
    if (node?.status !== 'waiting' || node.for !== 'child') throw new Error(`${id} has called no run`);
    return { kind: 'child-ended', node: refOf(id), attempt: node.attempt, childRunId: node.childRunId, end };
  }

  signalled(id: string, payload: JsonValue = null, signal = 's1'): Extract<Fact, { kind: 'signal-received' }> {
    const given = { signalId: signalId(signal), payload, receivedAt: this.now };
    return { kind: 'signal-received', node: refOf(id), attempt: attemptOf(this.node(id)), signal: given };
  }

  lost(id: string): Extract<Fact, { kind: 'node-lost' }> {
    const failure: Failure = { cause: 'lost', message: 'its message died' };
    return { kind: 'node-lost', node: refOf(id), attempt: attemptOf(this.node(id)), failure };
  }

  advanceTime(wait: DurationMs): void {
    this.now = after(this.now, wait);
  }

  node(id: string): NodeState | undefined {
    return this.state.nodes.get(nodeKey(refOf(id)));
  }

  statusOf(id: string): NodeState['status'] | 'pending' {
    return this.node(id)?.status ?? 'pending';
  }

  /** The statuses of these nodes, in order. */
  statuses(...ids: readonly string[]): readonly string[] {
    return ids.map((id) => this.statusOf(id));
  }

  open(): readonly OpenNode[] {
    return [...this.state.open.keys()].flatMap((key) => {
      const node = this.state.nodes.get(key);
      return node !== undefined && isOpen(node) ? [node] : [];
    });
  }

  openIds(): readonly string[] {
    return this.open().map((node) => nodeKey(node));
  }

  /** The input of an open node's current attempt. */
  inputOf(id: string): NodeInput {
    const ref = refOf(id);
    const open = this.open().find((node) => nodeKey(node) === nodeKey(ref));
    const planned = this.graph.plan.nodes.get(ref.nodeId);
    if (open === undefined || planned === undefined) throw new Error(`${id} is not open`);
    return nodeInputOf(this.graph.plan, planned, ref.iteration, this.state, open.pinnedAt, this.tools.loaded);
  }

  get events(): readonly RunEvent[] {
    return this.commits.flatMap((commit) => commit.events);
  }

  eventsOf<Type extends RunEventType>(type: Type): readonly Extract<RunEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type);
  }

  get status(): RunState['progress']['status'] {
    return this.state.progress.status;
  }

  get error(): Failure | undefined {
    return this.state.progress.status === 'failed' ? this.state.progress.error : undefined;
  }

  get output(): Payload | undefined {
    return this.state.progress.status === 'completed' ? this.state.progress.output : undefined;
  }

  /** A new fold of the same log. */
  refold(): RunState {
    return foldOf(this.commits);
  }

  #commit(question: () => readonly RunEvent[]): readonly RunEvent[] {
    const events = question();
    if (!isDeepStrictEqual(question(), events)) throw new Error('the same decision had two results');
    if (events.length === 0) return events;
    const commit: Commit = {
      number: commitNo(this.state.asOf + 1),
      firstEventId: this.state.nextEventId,
      events,
      at: this.now,
      by: 'test',
      nonce: nonce(`n${this.state.asOf}`),
    };
    applyCommit(this.state, commit);
    this.commits.push(commit);
    return events;
  }
}

export const foldOf = (commits: readonly Commit[]): RunState => {
  const state = emptyState();
  for (const commit of commits) applyCommit(state, commit);
  return state;
};

/** A fold as plain data, for comparison. */
export const plain = (state: RunState) => ({
  ...state,
  nodes: [...state.nodes.entries()],
  open: [...state.open.keys()],
  written: [...state.contextWrites.entries()],
  passes: [...state.iterations.entries()],
});

/** `'a'`, or `'a@each[2]'` in an iteration. */
export const refOf = (name: string): NodeRef => {
  const [id = '', iteration = topLevel] = name.split('@');
  return { nodeId: nodeId(id), iteration: iterationKey(iteration) };
};
export const nth = attempt;

/** A started run of the graph. */
export const started = (graph: Graph, settings: Settings = {}, input: JsonValue = {}): GraphRunFixture => {
  const play = new GraphRunFixture(graph, settings);
  play.start(input);
  return play;
};

const isStored = (input: JsonValue | { readonly stored: Payload }): input is { readonly stored: Payload } =>
  typeof input === 'object' && input !== null && 'stored' in input;

export const types = (events: readonly RunEvent[]): readonly string[] => events.map(({ type }) => type);
/** `NODE_DISPATCHED a`: an event type and its node; `ITERATION_ENDED each[2]` for an iteration. */
export const describeEvents = (events: readonly RunEvent[]): readonly string[] =>
  events.map((event) => {
    if (!('nodeId' in event)) return event.type;
    return `${event.type} ${nodeKey(event)}${'index' in event ? `[${event.index}]` : ''}`;
  });
