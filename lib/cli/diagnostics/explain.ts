/** Why a run is where it is. Pure: a run, its events and the time in, sentences out. */
import { defined } from '../../engine/defined.ts';
import type { Run, RunEvent } from '../../client/index.ts';
import { failureMessage } from '../runs/format-event.ts';
import { quantity, formatTime } from '../format.ts';

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
  readonly summary: string;
}

export interface Explanation {
  readonly runId: string;
  readonly status: Run['status'];
  readonly summary: string;
  /** what the run waits for; empty once it has ended */
  readonly nodes: readonly OpenNode[];
}

export function explain(run: Run, events: readonly RunEvent[], now: number): Explanation {
  const fields = { runId: run.runId, status: run.status };
  if (run.status !== 'pending' && run.status !== 'running') return { ...fields, summary: describeEnd(run, now), nodes: [] };
  const nodes = run.nodes.filter(isOpen).map((node) => openNode(node, events, now));
  return {
    ...fields,
    summary: `${describeProgress(run, nodes, now)} It fails if it has not ended by ${formatTime(run.deadlineAt, now)}.`,
    nodes,
  };
}

const isOpen = ({ status }: Node): boolean => status === 'queued' || status === 'running' || status === 'waiting';

function describeEnd(run: Run, now: number): string {
  const at = run.completedAt === undefined ? '' : ` at ${formatTime(run.completedAt, now)}`;
  if (run.status === 'completed') return `It completed${at}: there is nothing more to do.`;
  if (run.status === 'cancelled')
    return `It was cancelled${at}${run.cancelReason === undefined ? ', without a reason' : `: ${run.cancelReason}`}.`;
  const { error } = run;
  if (error === undefined) return `It failed${at}.`;
  const failed = run.nodes.find((node) => node.error !== undefined && node.error.message === error.message);
  const where = failed === undefined ? '' : ` in node ${failed.nodeId}, attempt ${failed.attempt}`;
  return `It failed${at}${where}: ${error.message} (${error.code}).`;
}

function describeProgress(run: Run, nodes: readonly OpenNode[], now: number): string {
  const startsAt = run.availableAt;
  if (run.status === 'pending' && startsAt !== undefined && Date.parse(startsAt) > now)
    return `It has not begun: it was asked to wait until ${formatTime(startsAt, now)}.`;
  if (run.waitingFor !== undefined) {
    const { slots } = run.waitingFor;
    const activeRuns = slots === 1 ? '1 run is' : `${slots} runs are`;
    return `It waits for a place: ${activeRuns} at work, and no more of its workflow may be (maxConcurrentRuns). It begins when one ends, in the order of the starts.`;
  }
  const [first] = nodes;
  if (first === undefined && run.nodes.some(isMessage))
    return 'Its code has answered every message that it was sent, and it waits to be told more: stepwell runs resume does that.';
  // A commit that asks for the next work was lost on its way, or is being made at this moment.
  if (first === undefined) return 'Nothing of it is at work at this moment; the sweep looks at it within minutes.';
  if (nodes.length === 1) return first.summary;
  const states = Map.groupBy(nodes, ({ state }) => state);
  const counts = [...states].map(([state, nodesOfState]) => `${nodesOfState.length} ${stateLabels[state]}`).join(', ');
  const next = nodes.flatMap(({ until }) => until ?? []).toSorted()[0];
  return `It waits for ${quantity(nodes.length, 'node')}: ${counts}.${next === undefined ? '' : ` The first is due ${formatTime(next, now)}.`}`;
}

const stateLabels = {
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
  const nodeEvents = events.filter(({ payload }) => payload['nodeId'] === node.nodeId && payload['iteration'] === node.iteration);
  const lastEventOf = (...types: readonly RunEvent['type'][]) => nodeEvents.findLast(({ type }) => types.includes(type));
  const retriedEvent = lastEventOf('node.retried');
  const lastFailure = failureMessage(retriedEvent?.payload['failure']);
  const fields = defined({
    nodeId: node.nodeId,
    iteration: node.iteration,
    attempt: node.attempt,
    lastFailure: lastFailure === '' ? undefined : lastFailure,
  });
  const attemptSuffix = node.attempt > 1 ? `, attempt ${node.attempt}` : '';
  const failureSuffix = lastFailure === '' ? '' : ` The attempt before it failed: ${lastFailure}.`;
  if (node.status === 'running') {
    const since = node.startedAt ?? lastEventOf('node.started', 'node.queued')?.timestamp;
    const summary = `${nodeLabel(node)} is at work${attemptSuffix}${formatSince(since, now)}.${failureSuffix}`;
    return defined({ ...fields, state: 'running', since, summary });
  }
  if (node.iterations !== undefined) {
    const { items, ended, failed } = node.iterations;
    const failedSuffix = failed === 0 ? '' : `, ${failed} of them failed`;
    const pause = node.wakeAt === undefined ? '' : ` It begins its next pass ${formatTime(node.wakeAt, now)}.`;
    const until = node.wakeAt === undefined ? {} : { until: node.wakeAt };
    const summary = `${nodeLabel(node)} has ${ended} of ${items} items behind it${failedSuffix}.${pause}`;
    return { ...fields, state: 'looping', ...until, summary };
  }
  if (node.waitingFor !== undefined) {
    const { signal, correlation, until } = node.waitingFor;
    const since = lastEventOf('signal.awaited')?.timestamp ?? node.startedAt;
    const untilSuffix = until === undefined ? '' : `, until ${formatTime(until, now)}`;
    const summary = `${nodeLabel(node)} waits for the signal ${signal} of ${correlation}${formatSince(since, now)}${untilSuffix}.`;
    const period = defined({ since, until });
    return { ...fields, state: 'awaiting', ...period, summary };
  }
  if (node.status === 'waiting' && node.childRunId !== undefined) {
    const since = lastEventOf('subflow.called')?.timestamp ?? node.startedAt;
    const until = node.wakeAt;
    const untilSuffix = until === undefined ? '' : `, until ${formatTime(until, now)}`;
    const summary = `${nodeLabel(node)} waits for the run ${node.childRunId} that it called${formatSince(since, now)}${untilSuffix}; stepwell explain ${node.childRunId} says why that waits.`;
    const period = defined({ since, until });
    return { ...fields, state: 'calling', ...period, summary };
  }
  if (node.status === 'waiting') {
    const since = lastEventOf('node.waiting')?.timestamp ?? node.startedAt;
    const until = node.wakeAt;
    const summary = `${nodeLabel(node)} sleeps${formatUntil(until, now)}; stepwell runs wake ends that earlier.`;
    return defined({
      ...fields,
      state: 'sleeping',
      since,
      until,
      summary,
    });
  }
  const dispatchEvent = lastEventOf('node.queued', 'node.retried');
  const retryAt = stringOrUndefined(dispatchEvent?.type === 'node.retried' ? dispatchEvent.payload['retryAt'] : undefined);
  const notBefore = stringOrUndefined(dispatchEvent?.type === 'node.queued' ? dispatchEvent.payload['notBefore'] : undefined);
  const since = dispatchEvent?.timestamp;
  const queuedFields = defined({ ...fields, since });
  if (retryAt !== undefined) {
    const summary = `${nodeLabel(node)} is tried again${attemptSuffix}${formatDueAt(retryAt, now)}.${failureSuffix}`;
    return { ...queuedFields, state: 'retrying', until: retryAt, summary };
  }
  if (notBefore !== undefined && Date.parse(notBefore) > now)
    return {
      ...queuedFields,
      state: 'delayed',
      until: notBefore,
      summary: `${nodeLabel(node)} is not to begin before ${formatTime(notBefore, now)}.`,
    };
  const summary = `${nodeLabel(node)} is in the queue${attemptSuffix}${formatSince(since, now)}; no worker has said yet that it took it.${failureSuffix}`;
  return { ...queuedFields, state: 'queued', summary };
}

/** A run of a deployment's code has messages where one of a graph has nodes. */
const isMessage = ({ type }: Node): boolean => type === 'message';
const nodeLabel = (node: Node): string => {
  if (isMessage(node)) return `Message ${node.nodeId}`;
  const where = node.iteration === undefined ? '' : ` in ${node.iteration}`;
  return `Node ${node.nodeId}${where} (${node.type})`;
};

const stringOrUndefined = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const formatSince = (at: string | undefined, now: number): string => (at === undefined ? '' : ` since ${formatTime(at, now)}`);
const formatUntil = (at: string | undefined, now: number): string => {
  if (at === undefined) return '';
  return Date.parse(at) > now
    ? ` until ${formatTime(at, now)}`
    : `, and was to wake at ${formatTime(at, now)}: that is about to happen`;
};
const formatDueAt = (at: string, now: number): string =>
  Date.parse(at) > now ? ` at ${formatTime(at, now)}` : `: it was due at ${formatTime(at, now)}, and is about to be`;
