/** External-worker runs in API responses. */
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { externalFailure } from '../../../lib/engine/external/failure.ts';
import { type ExternalRun, endOfLife, hasEnded, runOfStep } from '../../../lib/engine/external/run.ts';
import { type Instant, between, iso } from '../../../lib/engine/time.ts';
import type { Listing } from '../../../lib/ports/external-runs.ts';
import { listedExternalState } from '../../../lib/ports/run-index.ts';
import type { ExternalRunView } from '../../../lib/service/runs/external-runs.ts';
import { times } from '../operation.ts';
import { failureOf, outputOf, shownInput } from './run-view.ts';

type Run = ResponseOf<'getRun'>['body'];
type RunSummary = ResponseOf<'listRuns'>['body']['data'][number];

type Facts = Pick<Listing, 'workflowName' | 'version' | 'status' | 'createdAt' | 'deadlineAt'> & {
  readonly runId: string;
  /** the step attempt that called it */
  readonly parent: string | undefined;
  readonly availableAt: Instant | undefined;
  readonly endedAt: Instant | undefined;
};

const factsOf = ({ runId, status, workflowName, version, createdAt, deadlineAt, availableAt, endedAt, parent }: Facts) => {
  const caller = parent === undefined ? undefined : runOfStep(parent);
  return defined({
    runId,
    status,
    workflowName,
    workflowVersion: null,
    version,
    isExternal: true as const,
    deploymentId: null,
    calledBy: caller === undefined || parent === undefined ? undefined : { runId: caller, nodeId: parent },
    specVersion: 1 as const,
    createdAt: iso(createdAt),
    deadlineAt: iso(deadlineAt),
    ...times({ availableAt, completedAt: endedAt }),
  });
};

export const externalSummaryOf = ({ error, ...listing }: Listing): RunSummary => {
  const { status, availableAt, endedAt, parent } = listing;
  const isRetrying = listedExternalState({ status, ...defined({ error }) }) === 'retrying';
  return defined({
    ...factsOf({ ...listing, availableAt, endedAt, parent }),
    attention: isRetrying ? ('retrying' as const) : undefined,
    error: status === 'failed' && error !== undefined ? failureOf({ cause: 'error', ...error }) : undefined,
  });
};

export const externalRunOf = ({ run, input, output, rootCause, nodes, nodesOmitted, lastEventId }: ExternalRunView): Run => {
  const { id, status, availableAt, finishedAt, startedAt, parent, workerId } = run;
  const facts = {
    ...run,
    runId: id,
    deadlineAt: endOfLife(run),
    availableAt: status === 'pending' && availableAt !== null ? availableAt : undefined,
    endedAt: finishedAt ?? undefined,
    parent: parent?.stepAttemptId,
  };
  return defined({
    ...factsOf(facts),
    ...(status === 'running' && startedAt !== null ? times({ startedAt }) : {}),
    error: status === 'failed' && run.error !== null ? failureOf(externalFailure(run.error)) : undefined,
    rootCause:
      rootCause === undefined
        ? undefined
        : { nodeId: rootCause.node.nodeId, attempt: rootCause.node.attempt, error: failureOf(rootCause.failure) },
    ...shownInput(input),
    ...outputOf(output),
    worker: workerId === null || availableAt === null ? undefined : { id: workerId, leaseUntil: iso(availableAt) },
    claims: run.attempts,
    nodes: nodes.map((node) => nodeOf(node, run)),
    nodesOmitted,
    lastEventId,
  });
};

const nodeOf = ({ nodeId, attempt, last, output }: ExternalRunView['nodes'][number], run: ExternalRun) => {
  const { kind, startedAt, finishedAt, error, child } = last;
  return defined({
    nodeId,
    type: kind,
    attempt,
    startedAt: iso(startedAt),
    childRunId: child?.runId,
    ...(last.status === 'running' ? openStateOf(last, run) : { status: last.status }),
    ...(finishedAt === null ? {} : { completedAt: iso(finishedAt), durationMs: between(startedAt, finishedAt) }),
    ...outputOf(output),
    error: error === null ? undefined : failureOf(externalFailure(error)),
  });
};

/** A step that has not ended. In an ended run it ends no more. */
const openStateOf = ({ context, child }: ExternalRunView['nodes'][number]['last'], run: ExternalRun) => {
  if (hasEnded(run)) return { status: 'cancelled' as const };
  switch (context?.kind) {
    case 'sleep':
      return { status: 'waiting' as const, ...wakeAt(context.resumeAt) };
    case 'signal-wait':
      return {
        status: 'waiting' as const,
        waitingFor: { signal: context.signal, correlation: '', until: context.timeoutAt },
      };
    case 'workflow':
      return child === null
        ? { status: 'running' as const }
        : { status: 'waiting' as const, ...(context.timeoutAt === null ? {} : wakeAt(context.timeoutAt)) };
    case undefined:
      return { status: 'running' as const };
  }
};

const wakeAt = (time: string) => ({ wakeAt: time });
