/** Why a run is where it is. Pure: a run, its events and the time in, sentences out. */
import type { Run, RunEvent } from '../../client/index.ts';
import { messageIn } from '../runs/event-line.ts';
import { many, when } from '../words.ts';

type Node = Run['nodes'][number];

interface OpenNode {
  readonly nodeId: string;
  /** the pass of a loop that it is in */
  readonly iteration?: string;
  /** `retrying`: queued, after an attempt that failed */
  readonly state: 'queued' | 'retrying' | 'delayed' | 'running' | 'sleeping' | 'awaiting' | 'calling' | 'looping';
  readonly attempt: number;
  /** since when it is in this state */
  readonly since?: string;
  /** until when it waits; it may be over, and nobody has come yet */
  readonly until?: string;
  /** why the attempt before failed */
  readonly lastFailure?: string;
  readonly sentence: string;
}

export interface Explanation {
  readonly runId: string;
  readonly status: Run['status'];
  readonly sentence: string;
  /** what the run waits for; empty once it has ended */
  readonly nodes: readonly OpenNode[];
}

export function explain(run: Run, events: readonly RunEvent[], now: number): Explanation {
  const facts = { runId: run.runId, status: run.status };
  if (run.status !== 'pending' && run.status !== 'running') return { ...facts, sentence: endOf(run, now), nodes: [] };
  const nodes = run.nodes.filter(isOpen).map((node) => openNode(node, events, now));
  return {
    ...facts,
    sentence: `${standing(run, nodes, now)} It fails if it has not ended by ${when(run.deadlineAt, now)}.`,
    nodes,
  };
}

const isOpen = ({ status }: Node): boolean => status === 'queued' || status === 'running' || status === 'waiting';

function endOf(run: Run, now: number): string {
  const at = run.completedAt === undefined ? '' : ` at ${when(run.completedAt, now)}`;
  if (run.status === 'completed') return `It completed${at}: there is nothing more to do.`;
  if (run.status === 'cancelled')
    return `It was cancelled${at}${run.cancelReason === undefined ? ', without a reason' : `: ${run.cancelReason}`}.`;
  const { error } = run;
  if (error === undefined) return `It failed${at}.`;
  const failed = run.nodes.find((node) => node.error !== undefined && node.error.message === error.message);
  const where = failed === undefined ? '' : ` in node ${failed.nodeId}, attempt ${failed.attempt}`;
  return `It failed${at}${where}: ${error.message} (${error.code}).`;
}

function standing(run: Run, nodes: readonly OpenNode[], now: number): string {
  const begins = run.availableAt;
  if (run.status === 'pending' && begins !== undefined && Date.parse(begins) > now)
    return `It has not begun: it was asked to wait until ${when(begins, now)}.`;
  if (run.waitingFor !== undefined) {
    const { places } = run.waitingFor;
    const are = places === 1 ? '1 run is' : `${places} runs are`;
    return `It waits for a place: ${are} at work, and no more of its workflow may be (maxConcurrentRuns). It begins when one ends, in the order of the starts.`;
  }
  const [first] = nodes;
  if (first === undefined && run.nodes.some(isMessage))
    return 'Its code has answered every message that it was sent, and it waits to be told more: stepwell runs resume does that.';
  // A commit that asks for the next work was lost on its way, or is being made at this moment.
  if (first === undefined) return 'Nothing of it is at work at this moment; the sweep looks at it within minutes.';
  if (nodes.length === 1) return first.sentence;
  const states = Map.groupBy(nodes, ({ state }) => state);
  const counts = [...states].map(([state, some]) => `${some.length} ${words[state]}`).join(', ');
  const next = nodes.flatMap(({ until }) => until ?? []).toSorted()[0];
  return `It waits for ${many(nodes.length, 'node')}: ${counts}.${next === undefined ? '' : ` The first is due ${when(next, now)}.`}`;
}

const words = {
  queued: 'in the queue',
  retrying: 'to be tried again',
  delayed: 'for the time to begin',
  running: 'at work',
  sleeping: 'asleep',
  awaiting: 'for a signal',
  calling: 'for a run that it called',
  looping: 'for the nodes of their body',
} as const satisfies Record<OpenNode['state'], string>;

function openNode(node: Node, events: readonly RunEvent[], now: number): OpenNode {
  const own = events.filter(({ payload }) => payload['nodeId'] === node.nodeId && payload['iteration'] === node.iteration);
  const last = (...types: readonly RunEvent['type'][]) => own.findLast(({ type }) => types.includes(type));
  const retried = last('node.retried');
  const lastFailure = messageIn(retried?.payload['failure']);
  const facts = {
    nodeId: node.nodeId,
    ...(node.iteration === undefined ? {} : { iteration: node.iteration }),
    attempt: node.attempt,
    ...(lastFailure === '' ? {} : { lastFailure }),
  };
  const again = node.attempt > 1 ? `, attempt ${node.attempt}` : '';
  const because = lastFailure === '' ? '' : ` The attempt before it failed: ${lastFailure}.`;
  if (node.status === 'running') {
    const since = node.startedAt ?? last('node.started', 'node.queued')?.timestamp;
    const sentence = `${nameOf(node)} is at work${again}${sinceWhen(since, now)}.${because}`;
    return { ...facts, state: 'running', ...(since === undefined ? {} : { since }), sentence };
  }
  if (node.passes !== undefined) {
    const { items, ended, failed } = node.passes;
    const bad = failed === 0 ? '' : `, ${failed} of them failed`;
    const pause = node.wakeAt === undefined ? '' : ` It begins its next pass ${when(node.wakeAt, now)}.`;
    const until = node.wakeAt === undefined ? {} : { until: node.wakeAt };
    const sentence = `${nameOf(node)} has ${ended} of ${items} items behind it${bad}.${pause}`;
    return { ...facts, state: 'looping', ...until, sentence };
  }
  if (node.waitingFor !== undefined) {
    const { signal, correlation, until } = node.waitingFor;
    const since = last('signal.awaited')?.timestamp ?? node.startedAt;
    const end = until === undefined ? '' : `, until ${when(until, now)}`;
    const sentence = `${nameOf(node)} waits for the signal ${signal} of ${correlation}${sinceWhen(since, now)}${end}.`;
    const times = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
    return { ...facts, state: 'awaiting', ...times, sentence };
  }
  if (node.status === 'waiting' && node.childRunId !== undefined) {
    const since = last('subflow.called')?.timestamp ?? node.startedAt;
    const until = node.wakeAt;
    const end = until === undefined ? '' : `, until ${when(until, now)}`;
    const sentence = `${nameOf(node)} waits for the run ${node.childRunId} that it called${sinceWhen(since, now)}${end}; stepwell explain ${node.childRunId} says why that waits.`;
    const times = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
    return { ...facts, state: 'calling', ...times, sentence };
  }
  if (node.status === 'waiting') {
    const since = last('node.waiting')?.timestamp ?? node.startedAt;
    const until = node.wakeAt;
    const sentence = `${nameOf(node)} sleeps${untilWhen(until, now)}; stepwell runs wake ends that earlier.`;
    return {
      ...facts,
      state: 'sleeping',
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
      sentence,
    };
  }
  const asked = last('node.queued', 'node.retried');
  const retryAt = textOf(asked?.type === 'node.retried' ? asked.payload['retryAt'] : undefined);
  const notBefore = textOf(asked?.type === 'node.queued' ? asked.payload['notBefore'] : undefined);
  const since = asked?.timestamp;
  const known = { ...facts, ...(since === undefined ? {} : { since }) };
  if (retryAt !== undefined) {
    const sentence = `${nameOf(node)} is tried again${again}${atWhen(retryAt, now)}.${because}`;
    return { ...known, state: 'retrying', until: retryAt, sentence };
  }
  if (notBefore !== undefined && Date.parse(notBefore) > now)
    return {
      ...known,
      state: 'delayed',
      until: notBefore,
      sentence: `${nameOf(node)} is not to begin before ${when(notBefore, now)}.`,
    };
  const sentence = `${nameOf(node)} is in the queue${again}${sinceWhen(since, now)}; no worker has said yet that it took it.${because}`;
  return { ...known, state: 'queued', sentence };
}

/** A run of a deployment's code has messages where one of a graph has nodes. */
const isMessage = ({ type }: Node): boolean => type === 'message';
const nameOf = (node: Node): string => {
  if (isMessage(node)) return `Message ${node.nodeId}`;
  const where = node.iteration === undefined ? '' : ` in ${node.iteration}`;
  return `Node ${node.nodeId}${where} (${node.type})`;
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const sinceWhen = (at: string | undefined, now: number): string => (at === undefined ? '' : ` since ${when(at, now)}`);
const untilWhen = (at: string | undefined, now: number): string => {
  if (at === undefined) return '';
  return Date.parse(at) > now ? ` until ${when(at, now)}` : `, and was to wake at ${when(at, now)}: that is about to happen`;
};
const atWhen = (at: string, now: number): string =>
  Date.parse(at) > now ? ` at ${when(at, now)}` : `: it was due at ${when(at, now)}, and is about to be`;
