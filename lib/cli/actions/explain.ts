/** `stepwell explain`: why a run waits or how it ended, from the run and its events. */
import { failureMessage, formatFailedItems } from './format-run.ts';
import { type OpenHook, describeResumption, readOpenHooks } from './hooks.ts';
import type { Action, CommandContext } from '../command.ts';
import { formatStatus, formatTable, formatTime, quantity } from '../format.ts';
import { stepNameIn } from '../devkit-names.ts';
import { readRunReference } from '../run-reference.ts';
import type { CallOptions, Run, RunEvent, StepwellClient } from '../../client/index.ts';
import { defined } from '../../base/defined.ts';
import { type FailureEvidence, evidenceIn, formatEvidence } from './failure-evidence.ts';
import { type RootCause, findRootCause, formatRootCause, readAllEvents } from './root-cause.ts';

export const explainRun: Action = async (commandLine, context) => {
  const id = await readRunReference(commandLine, context, { acceptsLatest: true, acceptsExternal: true });
  const client = await context.client();
  const explanation = await readExplanation(client, id, context.now(), { signal: context.signal });
  return { data: explanation, text: formatExplanation(context, explanation) };
};

/** The run, its events and the reason for its failure, as one explanation. */
export async function readExplanation(
  client: StepwellClient,
  id: string,
  now: number,
  options: CallOptions,
): Promise<Explanation> {
  const run = await client.getRun(id, { resolveData: 'none' }, options);
  // Only an open run is explained by its events.
  if (isEnded(run)) return explain(run, [], now, await findRootCause(client, run, options));
  const events = await readAllEvents(client, id, options);
  return explain(run, events, now, undefined, await readOpenHooks(client, run, options));
}

function formatExplanation(context: CommandContext, { runId: id, status: runStatus, summary, nodes }: Explanation): string {
  const rows = nodes.map((node) => [
    node.nodeId,
    node.state,
    String(node.attempt),
    node.since ?? '',
    node.until ?? '',
    node.lastFailure ?? '',
  ]);
  // The summary has the failures only where one node is open.
  const failures = nodes.length > 1 ? formatLastFailures(nodes) : [];
  return [
    summary,
    ...failures,
    '',
    `${id}  ${formatStatus(context, runStatus)}`,
    ...(rows.length === 0 ? [] : [formatTable(context, ['node', 'state', 'attempt', 'since', 'until', 'last failure'], rows)]),
  ].join('\n');
}

type Node = Run['nodes'][number];

interface OpenNode {
  readonly nodeId: string;
  /** the iteration of the loop that contains the node */
  readonly iteration?: string;
  /** `retrying`: queued, after an attempt that failed */
  readonly state: 'queued' | 'retrying' | 'delayed' | 'running' | 'sleeping' | 'awaiting' | 'calling' | 'looping';
  readonly attempt: number;
  /** since when it is in this state */
  readonly since?: string;
  /** until when it waits; may be past if the wake-up is late */
  readonly until?: string;
  /** why the previous attempt failed */
  readonly lastFailure?: string;
  /** what that attempt sent and received, and the author's line */
  readonly lastAttempt?: FailureEvidence;
  readonly summary: string;
}

export interface Explanation {
  readonly runId: string;
  readonly status: Run['status'];
  readonly summary: string;
  /** what the run waits for; empty once it has ended */
  readonly nodes: readonly OpenNode[];
  /** of a failed run: the failure that the others follow from */
  readonly rootCause?: RootCause;
}

/** A line for each node that is open after an attempt that failed. */
export const formatLastFailures = (nodes: readonly OpenNode[]): readonly string[] =>
  nodes.flatMap(({ nodeId, iteration, lastFailure, lastAttempt = {} }) =>
    lastFailure === undefined
      ? []
      : [
          `The previous attempt of ${nodeId}${iteration === undefined ? '' : ` in ${iteration}`} failed: ${lastFailure}${formatEvidence(lastAttempt)}`,
        ],
  );

/** The nodes whose previous attempt failed and that are open now, from the events of the run. */
export async function readRetries(
  client: StepwellClient,
  run: Run,
  now: number,
  options: CallOptions,
): Promise<readonly OpenNode[]> {
  const mayRetry = ({ status, attempt }: Node): boolean => status === 'queued' || (status === 'running' && attempt > 1);
  if (isEnded(run) || !run.nodes.some(mayRetry)) return [];
  return explain(run, await readAllEvents(client, run.runId, options), now).nodes;
}

const isEnded = ({ status }: Run): boolean => status !== 'pending' && status !== 'running';

/**
 * @param rootCause of a failed run, from `findRootCause`
 * @param hooks of a DevKit run, by node
 */
export function explain(
  run: Run,
  events: readonly RunEvent[],
  now: number,
  rootCause?: RootCause,
  hooks: ReadonlyMap<string, OpenHook> = new Map(),
): Explanation {
  const fields = defined({ runId: run.runId, status: run.status, rootCause });
  if (isEnded(run)) return { ...fields, summary: describeEnd(run, now, rootCause), nodes: [] };
  const nodes = run.nodes.filter(isOpen).map((node) => openNode(run, node, events, now, hooks.get(node.nodeId)));
  return {
    ...fields,
    summary: `${describeProgress(run, nodes, now)} ${describeDeadline(run, now)}`,
    nodes,
  };
}

const describeDeadline = ({ deadlineAt, deadlineLimitAt }: Run, now: number): string =>
  deadlineLimitAt === undefined
    ? `It fails if it has not ended by ${formatTime(deadlineAt, now)}.`
    : `It fails if it has not ended by ${formatTime(deadlineAt, now)}; while it waits, it continues until ${formatTime(deadlineLimitAt, now)}.`;

const isOpen = ({ status }: Node): boolean => status === 'queued' || status === 'running' || status === 'waiting';

function describeEnd(run: Run, now: number, rootCause: RootCause | undefined): string {
  const at = run.completedAt === undefined ? '' : ` at ${formatTime(run.completedAt, now)}`;
  if (run.status === 'completed') return `It completed${at}.`;
  if (run.status === 'cancelled')
    return `It was cancelled${at}${run.cancelReason === undefined ? ', without a reason' : `: ${run.cancelReason}`}.`;
  const { error } = run;
  if (error === undefined) return `It failed${at}.`;
  const summary = `It failed${at}: ${error.message} (${error.code}).`;
  return rootCause === undefined ? summary : `${summary} Root cause: ${formatRootCause(rootCause)}`;
}

function describeProgress(run: Run, nodes: readonly OpenNode[], now: number): string {
  const startsAt = run.availableAt;
  const hasStarted = run.status !== 'pending' || (run.claims ?? 0) > 0;
  if (!hasStarted && startsAt !== undefined && Date.parse(startsAt) > now)
    return `It has not started: its start is set to ${formatTime(startsAt, now)}.`;
  if (run.waitingFor !== undefined) {
    const { slots } = run.waitingFor;
    const activeRuns = slots === 1 ? '1 run is' : `${slots} runs are`;
    return `It waits for a concurrency slot: ${activeRuns} active, the limit of its workflow (maxConcurrentRuns). It starts when one of them ends, in the order of the starts.`;
  }
  const [first] = nodes;
  if (run.isExternal === true && run.worker === undefined && first === undefined) return describeUnclaimed(run, now);
  if (run.isExternal === true && first === undefined) return `Worker ${run.worker?.id} executes it, between two steps.`;
  if (first === undefined && run.nodes.some(isMessage))
    return 'Its code has processed every message, and it waits for the next one: stepwell runs resume sends one.';
  // The message for the next work was lost, or a commit is being written now.
  if (first === undefined) return 'No node is active now; the sweep checks the run within minutes.';
  if (nodes.length === 1) return first.summary;
  const states = Map.groupBy(nodes, ({ state }) => state);
  const counts = [...states].map(([state, nodesOfState]) => `${nodesOfState.length} ${stateLabels[state]}`).join(', ');
  const next = nodes.flatMap(({ until }) => until ?? []).toSorted()[0];
  return `It waits for ${quantity(nodes.length, 'node')}: ${counts}.${next === undefined ? '' : ` The next one is due at ${formatTime(next, now)}.`}`;
}

/** A run of the package openworkflow that no worker holds, and that waits in no step. */
function describeUnclaimed({ nodes, availableAt }: Run, now: number): string {
  const failed = nodes.findLast(({ status }) => status === 'failed');
  const failure = failed?.error === undefined ? '' : ` Step ${failed.nodeId} failed: ${failed.error.message}.`;
  const due = availableAt !== undefined && Date.parse(availableAt) > now ? ` from ${formatTime(availableAt, now)} on` : '';
  return `It waits for a worker of its program, which can claim it${due}.${failure}`;
}

const stateLabels = {
  queued: 'in the queue',
  retrying: 'waiting for a retry',
  delayed: 'delayed',
  running: 'running',
  sleeping: 'sleeping',
  awaiting: 'waiting for a signal',
  calling: 'waiting for a child run',
  looping: 'in a loop',
} as const satisfies Record<OpenNode['state'], string>;

function openNode(run: Run, node: Node, events: readonly RunEvent[], now: number, hook?: OpenHook): OpenNode {
  const nodeEvents = events.filter(({ payload }) => payload['nodeId'] === node.nodeId && payload['iteration'] === node.iteration);
  const lastEventOf = (...types: readonly RunEvent['type'][]) => nodeEvents.findLast(({ type }) => types.includes(type));
  const retriedEvent = lastEventOf('node.retried');
  const lastFailure = failureMessage(retriedEvent?.payload['failure']);
  const evidence = evidenceIn(retriedEvent?.payload['failure']);
  const fields = defined({
    nodeId: node.nodeId,
    iteration: node.iteration,
    attempt: node.attempt,
    lastFailure: lastFailure === '' ? undefined : lastFailure,
    lastAttempt: Object.keys(evidence).length === 0 ? undefined : evidence,
  });
  const attemptSuffix = node.attempt > 1 ? `, attempt ${node.attempt}` : '';
  const failureSuffix = lastFailure === '' ? '' : ` The previous attempt failed: ${lastFailure}${formatEvidence(evidence)}`;
  if (node.status === 'running') {
    const since = node.startedAt ?? lastEventOf('node.started', 'node.queued')?.timestamp;
    const summary = `${nodeLabel(node)} is running${attemptSuffix}${formatSince(since, now)}.${failureSuffix}`;
    return defined({ ...fields, state: 'running', since, summary });
  }
  const parts: NodeParts = { run, node, fields, lastEventOf, attemptSuffix, failureSuffix, now, hook };
  return waitingNode(parts) ?? queuedNode(parts);
}

interface NodeParts {
  readonly run: Run;
  readonly node: Node;
  readonly fields: Pick<OpenNode, 'nodeId' | 'iteration' | 'attempt' | 'lastFailure' | 'lastAttempt'>;
  readonly lastEventOf: (...types: readonly RunEvent['type'][]) => RunEvent | undefined;
  readonly attemptSuffix: string;
  readonly failureSuffix: string;
  readonly now: number;
  readonly hook: OpenHook | undefined;
}

/** A node that waits for iterations, a signal, a child run or a time; undefined for a queued node. */
function waitingNode({ run, node, fields, lastEventOf, now, hook }: NodeParts): OpenNode | undefined {
  if (node.iterations !== undefined) {
    const { items, ended } = node.iterations;
    const failedSuffix = formatFailedItems(node.iterations)
      .map((text) => `, ${text}`)
      .join('');
    const pause = node.wakeAt === undefined ? '' : ` Its next iteration starts at ${formatTime(node.wakeAt, now)}.`;
    const until = node.wakeAt === undefined ? {} : { until: node.wakeAt };
    const summary = `${nodeLabel(node)} has completed ${ended} of ${items} items${failedSuffix}.${pause}`;
    return { ...fields, state: 'looping', ...until, summary };
  }
  if (node.waitingFor !== undefined) {
    const { signal, correlation, until } = node.waitingFor;
    const since = lastEventOf('signal.awaited')?.timestamp ?? node.startedAt;
    const untilSuffix = until === undefined ? '' : `, until ${formatTime(until, now)}`;
    const period = defined({ since, until });
    if (node.type === 'hook') {
      const summary = `${nodeLabel(node)} waits for resumeHook() of the app${formatSince(since, now)}; ${describeResumption(hook)}.`;
      return { ...fields, state: 'awaiting', ...period, summary };
    }
    const summary = `${nodeLabel(node)} waits for the signal ${signal}${correlation === '' ? '' : ` with correlation ${correlation}`}${formatSince(since, now)}${untilSuffix}.`;
    return { ...fields, state: 'awaiting', ...period, summary };
  }
  if (node.status === 'waiting' && node.childRunId !== undefined) {
    const since = lastEventOf('subflow.called')?.timestamp ?? node.startedAt;
    const until = node.wakeAt;
    const untilSuffix = until === undefined ? '' : `, until ${formatTime(until, now)}`;
    const summary = `${nodeLabel(node)} waits for the child run ${node.childRunId}${formatSince(since, now)}${untilSuffix}; stepwell explain ${node.childRunId} explains that run.`;
    const period = defined({ since, until });
    return { ...fields, state: 'calling', ...period, summary };
  }
  if (node.status === 'waiting') {
    const since = lastEventOf('node.waiting')?.timestamp ?? node.startedAt;
    const until = node.wakeAt;
    const summary = `${nodeLabel(node)} sleeps${formatUntil(until, now)}${run.isExternal === true ? '' : '; stepwell runs wake ends the sleep early'}.`;
    return defined({
      ...fields,
      state: 'sleeping',
      since,
      until,
      summary,
    });
  }
  return undefined;
}

function queuedNode({ node, fields, lastEventOf, attemptSuffix, failureSuffix, now }: NodeParts): OpenNode {
  const dispatchEvent = lastEventOf('node.queued', 'node.retried');
  const retryAt = stringOrUndefined(dispatchEvent?.type === 'node.retried' ? dispatchEvent.payload['retryAt'] : undefined);
  const notBefore = stringOrUndefined(dispatchEvent?.type === 'node.queued' ? dispatchEvent.payload['notBefore'] : undefined);
  const since = dispatchEvent?.timestamp;
  const queuedFields = defined({ ...fields, since });
  if (retryAt !== undefined) {
    const summary = `${nodeLabel(node)} is retried${attemptSuffix}${formatDueAt(retryAt, now)}.${failureSuffix}`;
    return { ...queuedFields, state: 'retrying', until: retryAt, summary };
  }
  if (notBefore !== undefined && Date.parse(notBefore) > now)
    return {
      ...queuedFields,
      state: 'delayed',
      until: notBefore,
      summary: `${nodeLabel(node)} does not start before ${formatTime(notBefore, now)}.`,
    };
  const summary = `${nodeLabel(node)} is in the queue${attemptSuffix}${formatSince(since, now)}; no worker has recorded a start yet.${failureSuffix}`;
  return { ...queuedFields, state: 'queued', summary };
}

/** In a bundle run, messages take the role of nodes. */
const isMessage = ({ type }: Node): boolean => type === 'message';
const nodeLabel = (node: Node): string => {
  if (isMessage(node)) return `Message ${node.nodeId}`;
  const where = node.iteration === undefined ? '' : ` in ${node.iteration}`;
  return `Node ${stepNameIn(node.label) ?? node.nodeId}${where} (${node.type})`;
};

const stringOrUndefined = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const formatSince = (at: string | undefined, now: number): string => (at === undefined ? '' : ` since ${formatTime(at, now)}`);
const formatUntil = (at: string | undefined, now: number): string => {
  if (at === undefined) return '';
  return Date.parse(at) > now
    ? ` until ${formatTime(at, now)}`
    : `; its wake-up was due at ${formatTime(at, now)} and follows shortly`;
};
const formatDueAt = (at: string, now: number): string =>
  Date.parse(at) > now ? ` at ${formatTime(at, now)}` : `: the retry was due at ${formatTime(at, now)} and follows shortly`;
