/**
 * The metrics of a commit: durations, attempts and failure causes of runs and nodes. Dimensions are values of small sets and workflow
 * names; never run ids or user data.
 */
import { type DevKitEventName, isTerminalRunEvent } from '../devkit/events.ts';
import type { NodeId } from '../ids.ts';
import { type Instant, between } from '../time.ts';
import type { Commit } from './commit.ts';
import type { RunEvent } from './events.ts';
import type { RunState } from './fold.ts';
import { TagReader } from './tags.ts';

export const metricUnits = {
  RunsStarted: 'Count',
  RunsEnded: 'Count',
  RunDuration: 'Milliseconds',
  NodeDuration: 'Milliseconds',
  NodeAttempts: 'Count',
  AttemptsFailed: 'Count',
  TokensUsed: 'Count',
  Tags: 'Count',
  MessagesSlowed: 'Count',
} as const;
export type MetricName = keyof typeof metricUnits;

export interface Metric {
  readonly name: MetricName;
  readonly value: number;
  /** empty: the metric describes the whole installation */
  readonly dimensions: Readonly<Record<string, string>>;
}

export interface MeasuredRun {
  readonly workflowName: string;
  readonly createdAt: Instant;
  /** after the commit */
  readonly state: RunState;
  /** the type of a node in the definition */
  readonly typeOf: (id: NodeId) => string;
}

export function metricsOf(commit: Commit, run: MeasuredRun): readonly Metric[] {
  return [...commit.events.flatMap((event) => metricsOfEvent(event, commit.at, run)), ...tagMetrics(commit, run.state)];
}

function metricsOfEvent(event: RunEvent, at: Instant, run: MeasuredRun): readonly Metric[] {
  switch (event.type) {
    // The first commit of every run has this event.
    case 'INPUT_SET':
      return [{ name: 'RunsStarted', value: 1, dimensions: {} }];
    case 'DEVKIT':
      return metricsOfDevKit(event.event, at, run);
    case 'RUN_COMPLETED':
      return runEnded('completed', at, run);
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
      return runEnded('failed', at, run);
    case 'RUN_CANCELLED':
      return runEnded('cancelled', at, run);
    case 'NODE_RETRIED':
      return [attemptFailed(event, run), ...tokensUsed(event, run)];
    case 'NODE_FAILED':
      return [attemptFailed(event, run), ...nodeEnded(event, 'failed', run), ...tokensUsed(event, run)];
    case 'NODE_COMPLETED':
      return [...nodeEnded(event, 'completed', run), ...tokensUsed(event, run)];
    default:
      return [];
  }
}

function metricsOfDevKit(event: DevKitEventName, at: Instant, run: MeasuredRun): readonly Metric[] {
  if (event === 'run_created') return [{ name: 'RunsStarted', value: 1, dimensions: {} }];
  return isTerminalRunEvent(event) ? runEnded(event.slice('run_'.length), at, run) : [];
}

function runEnded(status: string, at: Instant, { workflowName, createdAt }: MeasuredRun): readonly Metric[] {
  const dimensions = { WorkflowName: workflowName, Status: status };
  return [
    { name: 'RunsEnded', value: 1, dimensions },
    { name: 'RunDuration', value: between(createdAt, at), dimensions },
  ];
}

type Ended = Extract<RunEvent, { type: 'NODE_COMPLETED' | 'NODE_FAILED' }>;
function nodeEnded({ nodeId, attempt, startedAt, endedAt }: Ended, status: string, { typeOf }: MeasuredRun): readonly Metric[] {
  const dimensions = { NodeType: typeOf(nodeId), Status: status };
  return [
    { name: 'NodeDuration', value: between(startedAt, endedAt), dimensions },
    { name: 'NodeAttempts', value: attempt, dimensions },
  ];
}

const attemptFailed = (
  { nodeId, failure }: Extract<RunEvent, { type: 'NODE_RETRIED' | 'NODE_FAILED' }>,
  { typeOf }: MeasuredRun,
): Metric => ({ name: 'AttemptsFailed', value: 1, dimensions: { NodeType: typeOf(nodeId), Cause: failure.cause } });

/** Tokens of failed attempts are billed too. */
const tokensUsed = (
  { tokens }: Extract<RunEvent, { type: 'NODE_RETRIED' | 'NODE_FAILED' | 'NODE_COMPLETED' }>,
  { workflowName }: MeasuredRun,
): readonly Metric[] =>
  (['input', 'output'] as const).flatMap((direction) =>
    tokens === undefined
      ? []
      : [{ name: 'TokensUsed', value: tokens[direction], dimensions: { WorkflowName: workflowName, Direction: direction } }],
  );

/** Tags that need an operator's attention. Counting them needs only this commit, not the tags of earlier ones. */
function tagMetrics(commit: Commit, state: RunState): readonly Metric[] {
  const tags = new TagReader().read(commit).filter(({ severity, tag }) => severity !== 'info' && tag !== 'partial_success');
  const counted: readonly { readonly tag: string; readonly severity: string }[] = tags;
  const isCompleted = commit.events.some(({ type }) => type === 'RUN_COMPLETED');
  const hasFailed =
    isCompleted && [...state.nodes.entries()].some(([, { status }]) => status === 'failed' || status === 'timed_out');
  return [...counted, ...(hasFailed ? [{ tag: 'partial_success', severity: 'warn' }] : [])].map(({ tag, severity }) => ({
    name: 'Tags',
    value: 1,
    dimensions: { Tag: tag, Severity: severity },
  }));
}
