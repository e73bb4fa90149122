/** Runs in API responses. Internal values, whose names begin with `__`, are not included. */
import { defined } from '../../../lib/base/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { pricedParts } from '../../../lib/contract/prices.ts';
import { firstAttempt, topLevel } from '../../../lib/engine/ids.ts';
import type { Failure } from '../../../lib/engine/log/events.ts';
import { type Head, type RunStatus, isTestRun } from '../../../lib/engine/log/head.ts';
import { callerOf, rerunFrom, rerunOf, scheduleOf, triggerOf } from '../../../lib/engine/log/lineage.ts';
import { type NodeState, type SignalWait, type WaitingNode, iterationCountsOf } from '../../../lib/engine/log/node-state.ts';
import { between, iso } from '../../../lib/engine/time.ts';
import {
  type FailedNode,
  type RunView,
  type ShownValue,
  type ShownNode,
  statusWithoutState,
} from '../../../lib/service/runs/get-run.ts';
import type { RunEstimate } from '../../../lib/service/runs/estimate-run.ts';
import { runKinds } from '../../../lib/service/kinds/run-kinds.ts';
import { kindOf } from '../../../lib/service/decider.ts';
import type { ListedRun } from '../../../lib/service/runs/list-runs.ts';
import { times } from '../operation.ts';

type Run = ResponseOf<'getRun'>['body'];
type RunNode = Run['nodes'][number];
type RunSummary = ResponseOf<'listRuns'>['body']['data'][number];

export const failureOf = ({ cause, message, code, details }: Failure) =>
  defined({
    code: code ?? cause,
    cause,
    message,
    details,
  });

const lineageOf = (head: Head) => {
  const original = rerunOf(head);
  const from = rerunFrom(head);
  const caller = callerOf(head);
  const schedule = scheduleOf(head);
  return defined({
    rerunOf: original,
    rerunFrom: from,
    calledBy: caller === undefined ? undefined : { runId: caller.runId, nodeId: caller.nodeId },
    ...(schedule === undefined ? {} : { scheduleId: schedule.scheduleId, scheduledAt: iso(schedule.scheduledAt) }),
    startedBy: triggerOf(head),
  });
};

const factsOf = (head: Head, status: RunStatus) => ({ ...baseFactsOf(head, status), ...lineageOf(head) });

const baseFactsOf = (head: Head, status: RunStatus) => {
  const { address, workflow, deploymentId, createdAt, deadlineAt, deadlineLimitAt, availableAt, trace } = head;
  return defined({
    runId: address.runId,
    status,
    workflowName: workflow.name,
    ...kindOf({ kinds: runKinds }, head).versionsOf(head),
    isTest: isTestRun(head) ? (true as const) : undefined,
    deploymentId,
    specVersion: 1 as const,
    createdAt: iso(createdAt),
    deadlineAt: iso(deadlineAt),
    ...times({ deadlineLimitAt, availableAt }),
    correlationId: trace === undefined ? undefined : trace.correlationId,
  });
};

/** The head's projection can be stale: its end and error are shown only if its status equals the log's. */
export const runSummaryOf = ({ head, status }: Extract<ListedRun, { head: unknown }>): RunSummary => {
  const { projection } = head;
  const isOpen = status === 'pending' || status === 'running';
  const hasProjectedEnd = projection.status === status;
  return defined({
    ...factsOf(head, status),
    attention: isOpen && projection.attention !== undefined ? projection.attention : undefined,
    ...(hasProjectedEnd ? times({ completedAt: projection.endedAt }) : {}),
    error: hasProjectedEnd && projection.error !== undefined ? failureOf(projection.error) : undefined,
  });
};

export const runOf = ({
  head,
  progress,
  spent,
  waitingForSlots,
  rootCause,
  input,
  output,
  nodes,
  nodesOmitted,
  lastEventId,
  commits,
}: RunView): Run =>
  defined({
    ...factsOf(head, progress.status),
    startedAt: progress.status === 'running' ? iso(progress.startedAt) : undefined,
    completedAt: 'endedAt' in progress ? iso(progress.endedAt) : undefined,
    error: progress.status === 'failed' ? failureOf(progress.error) : undefined,
    rootCause: rootCause === undefined ? undefined : rootCauseView(rootCause),
    cancelReason: progress.status === 'cancelled' && progress.reason !== undefined ? progress.reason : undefined,
    ...shownInput(input),
    ...outputOf(output),
    waitingFor: waitingForSlots === undefined ? undefined : { kind: 'slot' as const, slots: waitingForSlots },
    // The work of a bundle run is not counted: its messages are not nodes.
    used: kindOf({ kinds: runKinds }, head).countsUsage ? { nodeExecutions: spent.executions, tokens: spent.tokens } : undefined,
    nodes: nodes.map((node) => nodeOf(node, statusWithoutState(progress))),
    nodesOmitted,
    lastEventId,
    commits,
  });

/** Empty if no estimate was asked for, or the run has none. */
export const costOf = (estimate: RunEstimate | undefined): Pick<Run, 'bytes' | 'estimate'> => {
  if (estimate === undefined) return {};
  const parts = pricedParts(estimate.usage);
  return { bytes: estimate.bytes, estimate: { dollars: parts.reduce((sum, { dollars }) => sum + dollars, 0), parts } };
};

const rootCauseView = ({ nodeId, iteration, attempt, childRunId, failure }: FailedNode) =>
  defined({ nodeId, iteration: iteration === topLevel ? undefined : iteration, attempt, childRunId, error: failureOf(failure) });

export const shownInput = (input: ShownValue | undefined) =>
  input === undefined ? {} : 'value' in input ? { input: input.value } : { inputOmitted: { bytes: input.omittedBytes } };

export const outputOf = (shownValue: ShownValue | undefined) =>
  shownValue === undefined
    ? {}
    : 'value' in shownValue
      ? { output: shownValue.value }
      : { outputOmitted: { bytes: shownValue.omittedBytes } };

export const nodeOf = ({ node, iteration, state, output, isPinned }: ShownNode, fallbackStatus: RunNode['status']): RunNode => {
  const nodeFields = defined({
    nodeId: node.id,
    type: node.type,
    label: node.label,
    iteration,
    isPinned,
  });
  if (state === undefined) return { ...nodeFields, status: fallbackStatus, attempt: 0 };
  return { ...nodeFields, status: shownStatus(state), ...stateOf(state), ...outputOf(output) };
};

const shownStatus = (state: NodeState): RunNode['status'] =>
  state.status === 'failed' ? (state.failure.status ?? state.status) : state.status;

const stateOf = (state: NodeState) => {
  switch (state.status) {
    case 'queued':
      // The first attempt waits for the start of its run, which the run shows as `availableAt`.
      return { attempt: state.attempt, ...(state.attempt > firstAttempt ? times({ wakeAt: state.notBefore }) : {}) };
    case 'running':
      return { attempt: state.attempt, startedAt: iso(state.startedAt) };
    case 'waiting':
      return {
        attempt: state.attempt,
        startedAt: iso(state.for === 'iterations' ? state.loop.startedAt : state.dispatchedAt),
        ...waitOf(state),
      };
    case 'completed':
    case 'cancelled':
      return { attempt: state.attempt, ...spanOf(state) };
    case 'failed':
    case 'timed_out':
      return { attempt: state.attempt, ...spanOf(state), error: failureOf(state.failure) };
    case 'skipped':
      return { attempt: 0, completedAt: iso(state.endedAt), skipReason: state.reason };
  }
};

export const waitingForOf = ({ name, correlation, expiresAt }: SignalWait) => ({
  signal: name,
  correlation,
  ...times({ until: expiresAt }),
});

function waitOf(state: WaitingNode) {
  switch (state.for) {
    case 'time':
      return { wakeAt: iso(state.wakeAt) };
    case 'signal':
      return { waitingFor: waitingForOf(state) };
    case 'child':
      return { childRunId: state.childRunId, ...times({ wakeAt: state.expiresAt }) };
    case 'iterations':
      return { ...times({ wakeAt: state.loop.wakeAt }), iterations: iterationCountsOf(state.loop) };
  }
}

const spanOf = ({ startedAt, endedAt, childRunId, iterations }: Extract<NodeState, { attempt: unknown; endedAt: unknown }>) =>
  defined({
    ...times({ startedAt }),
    completedAt: iso(endedAt),
    childRunId,
    iterations,
    durationMs: startedAt === undefined ? undefined : between(startedAt, endedAt),
  });
