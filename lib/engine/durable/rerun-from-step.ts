/**
 * Rerun of a code run from a step. The new run begins with the entries of the earlier log up to the end of that step, without its result,
 * so that the replay of the code continues there. Steps that had begun by then cannot depend on its result, so their results are kept too.
 */
import { type Attempt, type NodeId, type NodeRef, type RunId, firstAttempt, topLevel } from '../ids.ts';
import { invariant, unreachable } from '../invariant.ts';
import { type JsonValue, inline } from '../json.ts';
import type { Commit } from '../log/commit.ts';
import type { RunEvent } from '../log/events.ts';
import type { Instant } from '../time.ts';
import { type StepInfo, rollbackPrefix } from './step.ts';

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;
type BeginEvent = EventOf<'NODE_DISPATCHED' | 'SLEEP_STARTED' | 'SIGNAL_AWAITED' | 'SUBFLOW_CALLED'>;
type EndEvent = EventOf<'NODE_COMPLETED' | 'NODE_FAILED'>;

interface Begun {
  readonly kind: 'begun';
  readonly event: BeginEvent;
  readonly step: StepInfo;
  readonly at: Instant;
}
type LogEntry =
  | Begun
  | { readonly kind: 'ended'; readonly event: EndEvent }
  /** the workflow failed and began its next attempt */
  | { readonly kind: 'retried'; readonly event: EventOf<'RUN_RETRIED'> };

/** What the new run takes over, in the order of the log. */
export type CopiedEntry =
  /** `attempt` is the one that ended */
  | { readonly kind: 'begun'; readonly step: StepInfo; readonly node: NodeRef; readonly attempt: Attempt }
  | Exclude<LogEntry, Begun>
  /** had not ended: it runs, or waits, in the new run; it is copied because the code began a later step that is kept */
  | { readonly kind: 'open'; readonly event: BeginEvent; readonly step: StepInfo; readonly at: Instant };

export interface RerunPoint {
  /** key or node id of the step */
  readonly from: string;
  /** values in place of the results of steps, by key or node id */
  readonly results: Readonly<Record<string, JsonValue>>;
}

export type RerunHistory =
  | { readonly kind: 'history'; readonly from: NodeId; readonly entries: readonly CopiedEntry[] }
  /** the step never began */
  | { readonly kind: 'step_not_found'; readonly step: string }
  /** results of steps that the rerun does not take over */
  | { readonly kind: 'results_not_kept'; readonly steps: readonly string[] }
  /** the earlier run undid the step, or tried to, so its result no longer holds */
  | { readonly kind: 'step_rolled_back'; readonly step: string };

/** @param commits the whole log of an ended run */
export function rerunFromStep(commits: readonly Commit[], { from, results }: RerunPoint): RerunHistory {
  const { entries, rolledBack, endedAt } = readLog(commits);
  const begin = entries.findLastIndex((entry) => entry.kind === 'begun' && isNamed(entry, from));
  const chosen = entries[begin];
  if (chosen?.kind !== 'begun') return { kind: 'step_not_found', step: from };
  const { nodeId } = chosen.event;
  const end = indexAfter(entries, begin, (entry) => isEndOf(entry, nodeId) || entry.kind === 'retried');
  const attemptEnd = indexAfter(entries, end - 1, ({ kind }) => kind === 'retried');
  const taken = entries.slice(0, end);
  const attemptBegin = 1 + taken.findLastIndex(({ kind }) => kind === 'retried');
  const earlier = completedOnly(taken.slice(0, attemptBegin));
  const current = taken.slice(attemptBegin);
  const begunSteps = [...earlier, ...current].filter((entry) => entry.kind === 'begun');
  const named = Object.entries(results).map(([name, value]) => ({
    name,
    value,
    step: begunSteps.find((entry) => isNamed(entry, name)),
  }));
  const unused = named.filter(({ step }) => step === undefined).map(({ name }) => name);
  if (unused.length > 0) return { kind: 'results_not_kept', steps: unused };
  const replacements: Replacements = {
    values: new Map(named.flatMap(({ step, value }) => (step === undefined ? [] : [[step.event.nodeId, resultOf(step, value)]]))),
    endedAt,
  };
  const laterEnds = entries
    .slice(end, attemptEnd)
    .filter((entry) => entry.kind === 'ended' && entry.event.type === 'NODE_COMPLETED' && entry.event.nodeId !== nodeId);
  const kept = [...copied(earlier, [], replacements), ...copied(current, laterEnds, replacements)];
  const undone = kept.find(
    (entry) => entry.kind === 'begun' && rolledBack.has(entry.step.key) && !replacements.values.has(entry.node.nodeId),
  );
  if (undone?.kind === 'begun') return { kind: 'step_rolled_back', step: undone.step.key };
  return { kind: 'history', from: nodeId, entries: kept };
}

const isNamed = ({ event, step }: Begun, name: string): boolean => event.nodeId === name || step.key === name;

const isEndOf = (entry: LogEntry, nodeId: NodeId): boolean => entry.kind === 'ended' && entry.event.nodeId === nodeId;

/** The index of the first entry after `index` that matches; the number of entries without one. */
function indexAfter(entries: readonly LogEntry[], index: number, matches: (entry: LogEntry) => boolean): number {
  const found = entries.findIndex((entry, at) => at > index && matches(entry));
  return found === -1 ? entries.length : found;
}

interface LogContent {
  readonly entries: readonly LogEntry[];
  /** keys of the steps whose rollback began */
  readonly rolledBack: ReadonlySet<string>;
  readonly endedAt: Instant;
}

/** The steps of the author in a log. Workflow tasks are not among them. */
function readLog(commits: readonly Commit[]): LogContent {
  const entries: LogEntry[] = [];
  const rolledBack = new Set<string>();
  const steps = new Set<NodeId>();
  let endedAt = commits[0]?.at;
  for (const { events, at } of commits) {
    endedAt = at;
    for (const event of events) {
      if (event.type === 'RUN_RETRIED') entries.push({ kind: 'retried', event });
      else if ('step' in event && event.step?.kind === 'rollback') rolledBack.add(event.step.key.slice(rollbackPrefix.length));
      else if ('step' in event && event.step !== undefined && event.step.kind !== 'workflow_task') {
        steps.add(event.nodeId);
        entries.push({ kind: 'begun', event, step: event.step, at });
      } else if ((event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED') && steps.has(event.nodeId))
        entries.push({ kind: 'ended', event });
    }
  }
  invariant(endedAt !== undefined, 'a rerun needs the log of a run');
  return { entries, rolledBack, endedAt };
}

/** Of earlier attempts of the workflow, only completed steps count. */
function completedOnly(entries: readonly LogEntry[]): readonly LogEntry[] {
  const open = new Map<NodeId, Begun>();
  const completed = new Set<LogEntry>();
  for (const entry of entries) {
    if (entry.kind === 'begun') open.set(entry.event.nodeId, entry);
    else if (entry.kind === 'retried') {
      completed.add(entry);
      open.clear();
    } else {
      const begun = open.get(entry.event.nodeId);
      if (begun !== undefined && entry.event.type === 'NODE_COMPLETED') completed.add(begun).add(entry);
    }
  }
  return entries.filter((entry) => completed.has(entry));
}

interface Replacements {
  readonly values: ReadonlyMap<NodeId, JsonValue>;
  /** when steps that had not ended count as ended */
  readonly endedAt: Instant;
}

/**
 * @param laterEnds completions after the entries; those of steps that began in the entries follow them
 */
function copied(
  entries: readonly LogEntry[],
  laterEnds: readonly LogEntry[],
  { values, endedAt }: Replacements,
): readonly CopiedEntry[] {
  const begun = new Map(entries.flatMap((entry) => (entry.kind === 'begun' ? [[entry.event.nodeId, entry] as const] : [])));
  const ends = new Map<NodeId, EndEvent>();
  for (const entry of [...entries, ...laterEnds]) {
    const step = entry.kind === 'ended' ? begun.get(entry.event.nodeId) : undefined;
    if (entry.kind !== 'ended' || step === undefined) continue;
    const value = values.get(entry.event.nodeId);
    ends.set(entry.event.nodeId, value === undefined ? entry.event : completion(step, value, entry.event));
  }
  const unendedSteps = [...begun.values()].filter(({ event }) => !ends.has(event.nodeId) && values.has(event.nodeId));
  for (const step of unendedSteps) {
    const value = values.get(step.event.nodeId);
    if (value !== undefined)
      ends.set(step.event.nodeId, completion(step, value, { attempt: firstAttempt, startedAt: step.at, endedAt }));
  }
  // The code requests the steps after the last kept one again, so these need not be copied.
  const lastKept = entries.findLastIndex((entry) => entry.kind === 'begun' && ends.has(entry.event.nodeId));
  const inOrder = entries.flatMap((entry, index): readonly CopiedEntry[] => {
    if (entry.kind === 'retried') return [entry];
    const { nodeId } = entry.event;
    const end = ends.get(nodeId);
    if (entry.kind === 'ended') return end === undefined ? [] : [{ kind: 'ended', event: end }];
    const { event, step, at } = entry;
    if (end !== undefined) return [{ kind: 'begun', step, node: { nodeId, iteration: topLevel }, attempt: end.attempt }];
    return index < lastKept ? [{ kind: 'open', event, step, at }] : [];
  });
  const following = [
    ...laterEnds.flatMap((entry) => (entry.kind === 'ended' ? [entry.event.nodeId] : [])),
    ...unendedSteps.map(({ event }) => event.nodeId),
  ];
  return [
    ...inOrder,
    ...following.flatMap((nodeId): readonly CopiedEntry[] => {
      const end = ends.get(nodeId);
      return end === undefined ? [] : [{ kind: 'ended', event: end }];
    }),
  ];
}

const completion = (
  { event: { nodeId } }: Begun,
  value: JsonValue,
  { attempt, startedAt, endedAt }: Pick<EndEvent, 'attempt' | 'startedAt' | 'endedAt'>,
): EndEvent => ({
  type: 'NODE_COMPLETED',
  nodeId,
  iteration: topLevel,
  attempt,
  output: inline(value),
  handle: null,
  startedAt,
  endedAt,
});

/** The code receives the data of a signal in an object, and null when the wait expired. A sleep has no result. */
function resultOf({ step: { kind } }: Begun, value: JsonValue): JsonValue {
  if (kind === 'sleep') return null;
  return kind === 'signal-wait' && value !== null ? { data: value } : value;
}

export interface CopyTools {
  readonly sourceRun: RunId;
  readonly run: RunId;
  readonly childRunId: (node: NodeRef, attempt: Attempt) => RunId;
}

/** The entries as events of the new run. A kept step is recorded as one that ran here, because its timers and calls have ended. */
export const copiedEvents = (entries: readonly CopiedEntry[], tools: CopyTools): readonly RunEvent[] =>
  entries.map((entry): RunEvent => {
    switch (entry.kind) {
      case 'begun': {
        const { node, attempt, step } = entry;
        return { type: 'NODE_DISPATCHED', ...node, attempt, via: 'inline', wave: 0, step };
      }
      case 'ended':
      case 'retried':
        return entry.event;
      case 'open':
        return beginAgain(entry, tools);
      default:
        return unreachable(entry);
    }
  });

/** A wait keeps its time. A called workflow is called again, as a run of the new one. */
function beginAgain(
  { event, step, at }: Extract<CopiedEntry, { kind: 'open' }>,
  { sourceRun, run, childRunId }: CopyTools,
): RunEvent {
  const { nodeId, iteration } = event;
  switch (event.type) {
    case 'NODE_DISPATCHED':
      // With a time in the past, the workflow task starts it at once; without one, the attempt would count as lost.
      return { type: 'NODE_DISPATCHED', nodeId, iteration, attempt: firstAttempt, via: 'inline', wave: 0, step, notBefore: at };
    case 'SIGNAL_AWAITED':
      // The default correlation is the id of the run.
      return event.correlation === sourceRun ? { ...event, correlation: run } : event;
    case 'SUBFLOW_CALLED':
      return { ...event, attempt: firstAttempt, childRunId: childRunId({ nodeId, iteration }, firstAttempt) };
    case 'SLEEP_STARTED':
      return event;
    default:
      return unreachable(event);
  }
}
