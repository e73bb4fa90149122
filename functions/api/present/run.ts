/** Runs as answers show them. Nothing whose name begins with `__` is among it. */
import type { AnswerOf } from '../../../lib/api/routes.ts';
import type { Failure } from '../../../lib/engine/log/events.ts';
import { type Head, type RunStatus, carriesGraph, isTestRun } from '../../../lib/engine/log/head.ts';
import { callerOf, rerunFrom, rerunOf, scheduleOf } from '../../../lib/engine/log/lineage.ts';
import { countsOf } from '../../../lib/engine/log/loop-state.ts';
import type { NodeState, WaitingNode } from '../../../lib/engine/log/node-state.ts';
import { between, iso } from '../../../lib/engine/time.ts';
import { type RunView, type Shown, type ShownNode, statusWithoutState } from '../../../lib/service/get-run.ts';
import type { ListedRun } from '../../../lib/service/list-runs.ts';
import { times } from './times.ts';

type Run = AnswerOf<'getRun'>['body'];
type RunNode = Run['nodes'][number];
type RunSummary = AnswerOf<'listRuns'>['body']['data'][number];

const failureOf = ({ cause, message, code, details }: Failure) => ({
  code: code ?? cause,
  cause,
  message,
  ...(details === undefined ? {} : { details }),
});

const lineageOf = (head: Head) => {
  const original = rerunOf(head);
  const from = rerunFrom(head);
  const caller = callerOf(head);
  const schedule = scheduleOf(head);
  return {
    ...(original === undefined ? {} : { rerunOf: original }),
    ...(from === undefined ? {} : { rerunFrom: from }),
    ...(caller === undefined ? {} : { calledBy: { runId: caller.runId, nodeId: caller.nodeId } }),
    ...(schedule === undefined ? {} : { scheduleId: schedule.scheduleId, scheduledAt: iso(schedule.scheduledAt) }),
  };
};

const factsOf = (head: Head, status: RunStatus) => ({ ...ownFactsOf(head, status), ...lineageOf(head) });

const ownFactsOf = (head: Head, status: RunStatus) => {
  const { address, workflow, deploymentId, createdAt, deadlineAt, availableAt, trace } = head;
  return {
    runId: address.runId,
    status,
    workflowName: workflow.name,
    workflowVersion: head.kind === 'graph' && !carriesGraph(head) ? head.workflow.version : null,
    ...(head.kind === 'code' ? { version: head.workflow.version ?? null } : {}),
    ...(isTestRun(head) ? { isTest: true as const } : {}),
    deploymentId,
    specVersion: 1 as const,
    createdAt: iso(createdAt),
    deadlineAt: iso(deadlineAt),
    ...times({ availableAt }),
    ...(trace === undefined ? {} : { correlationId: trace.correlationId }),
  };
};

/** The projection may be late: what it says about the end is only shown where it agrees with the log's status. */
export const runSummaryOf = ({ head, status }: ListedRun): RunSummary => {
  const { projection } = head;
  const isOpen = status === 'pending' || status === 'running';
  const hasEnd = projection.status === status;
  return {
    ...factsOf(head, status),
    ...(isOpen && projection.attention !== undefined ? { attention: projection.attention } : {}),
    ...(hasEnd ? times({ completedAt: projection.endedAt }) : {}),
    ...(hasEnd && projection.error !== undefined ? { error: failureOf(projection.error) } : {}),
  };
};

export const runOf = ({ head, progress, spent, waitsAmong, input, output, nodes, nodesOmitted, lastEventId }: RunView): Run => ({
  ...factsOf(head, progress.status),
  ...(progress.status === 'running' ? { startedAt: iso(progress.startedAt) } : {}),
  ...('endedAt' in progress ? { completedAt: iso(progress.endedAt) } : {}),
  ...(progress.status === 'failed' ? { error: failureOf(progress.error) } : {}),
  ...(progress.status === 'cancelled' && progress.reason !== undefined ? { cancelReason: progress.reason } : {}),
  ...(input === undefined ? {} : 'value' in input ? { input: input.value } : { inputOmitted: { bytes: input.omittedBytes } }),
  ...outputOf(output),
  ...(waitsAmong === undefined ? {} : { waitingFor: { kind: 'place' as const, places: waitsAmong } }),
  // What the code of a fetch run does is not counted: its messages are no nodes.
  ...(head.kind !== 'fetch' ? { used: { nodeExecutions: spent.executions, tokens: spent.tokens } } : {}),
  nodes: nodes.map((node) => nodeOf(node, statusWithoutState(progress))),
  ...(nodesOmitted === undefined ? {} : { nodesOmitted }),
  lastEventId,
});

const outputOf = (shown: Shown | undefined) =>
  shown === undefined ? {} : 'value' in shown ? { output: shown.value } : { outputOmitted: { bytes: shown.omittedBytes } };

const nodeOf = ({ node, iteration, state, output, isPinned }: ShownNode, otherwise: RunNode['status']): RunNode => {
  const named = {
    nodeId: node.id,
    type: node.type,
    ...(node.label === undefined ? {} : { label: node.label }),
    ...(iteration === undefined ? {} : { iteration }),
    ...(isPinned === undefined ? {} : { isPinned }),
  };
  if (state === undefined) return { ...named, status: otherwise, attempt: 0 };
  return { ...named, status: shownStatus(state), ...stateOf(state), ...outputOf(output) };
};

const shownStatus = (state: NodeState): RunNode['status'] =>
  state.status === 'failed' ? (state.failure.status ?? state.status) : state.status;

const stateOf = (state: NodeState) => {
  switch (state.status) {
    case 'queued':
      return { attempt: state.attempt };
    case 'running':
      return { attempt: state.attempt, startedAt: iso(state.startedAt) };
    case 'waiting':
      return {
        attempt: state.attempt,
        startedAt: iso(state.for === 'passes' ? state.loop.startedAt : state.dispatchedAt),
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

function waitOf(state: WaitingNode) {
  switch (state.for) {
    case 'time':
      return { wakeAt: iso(state.wakeAt) };
    case 'signal':
      return { waitingFor: { signal: state.name, correlation: state.correlation, ...times({ until: state.expiresAt }) } };
    case 'child':
      return { childRunId: state.childRunId, ...times({ wakeAt: state.expiresAt }) };
    case 'passes':
      return { ...times({ wakeAt: state.loop.wakeAt }), passes: countsOf(state.loop) };
  }
}

const spanOf = ({ startedAt, endedAt, childRunId, passes }: Extract<NodeState, { attempt: unknown; endedAt: unknown }>) => ({
  ...times({ startedAt }),
  completedAt: iso(endedAt),
  ...(childRunId === undefined ? {} : { childRunId }),
  ...(passes === undefined ? {} : { passes }),
  ...(startedAt === undefined ? {} : { durationMs: between(startedAt, endedAt) }),
});
