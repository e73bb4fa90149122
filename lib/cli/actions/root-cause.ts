/** Finds why a run failed: through called runs, loops and error ends, down to the failed attempt or the author's line. */
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import { ComputeClientError, type CallOptions, type Run, type RunEvent, type StepwellClient } from '../../client/index.ts';
import { type FailureEvidence, formatEvidence, jsonObject, readEvidence } from './failure-evidence.ts';

type Failure = NonNullable<Run['error']>;

export interface RootCause extends FailureEvidence {
  /** the run of the failed node: the run itself, or a run that it called */
  readonly runId: string;
  readonly workflowName: string;
  /** the called runs that lead to it, outermost first; empty: the node is in the run itself */
  readonly calledRuns: readonly string[];
  /** absent: the workflow's own code failed, or the run exceeded a limit */
  readonly nodeId?: string;
  /** the iteration of the loop that contains the node, such as `each[3]` */
  readonly iteration?: string;
  /** of a code workflow: the name of the step */
  readonly step?: string;
  readonly attempt?: number;
  readonly code: string;
  readonly message: string;
}

/** Called runs that are followed. The API allows fewer levels of calls. */
const maxDepth = 20;

type Client = Pick<StepwellClient, 'getRun' | 'listRunEvents'>;

/** @returns undefined if the run has not failed */
export async function findRootCause(client: Client, run: Run, options: CallOptions): Promise<RootCause | undefined> {
  const calledRuns: string[] = [];
  for (let current = run; current.error !== undefined;) {
    const failed = await failedNodeOf(client, current, current.error, options);
    const { childRunId } = failed;
    const child =
      childRunId === undefined || calledRuns.length >= maxDepth ? undefined : await readRun(client, childRunId, options);
    if (childRunId === undefined || child?.error === undefined) return describeCause(current, failed, calledRuns);
    calledRuns.push(childRunId);
    current = child;
  }
  return undefined;
}

/** @returns undefined if the run is deleted */
async function readRun(client: Client, id: string, options: CallOptions): Promise<Run | undefined> {
  try {
    return await client.getRun(id, { resolveData: 'none' }, options);
  } catch (error) {
    if (error instanceof ComputeClientError && error.status === 404) return undefined;
    throw error;
  }
}

interface FailedNode {
  readonly nodeId?: string;
  readonly iteration?: string;
  readonly attempt?: number;
  readonly error: Failure;
  readonly childRunId?: string;
}

async function failedNodeOf(client: Client, run: Run, error: Failure, options: CallOptions): Promise<FailedNode> {
  let failed: FailedNode = run.rootCause ?? { error };
  if (failed.error.code !== 'loop_item_failed') return withChild(failed);
  const events = await readAllEvents(client, run.runId, options);
  for (let inner = failedInIteration(failed, events); inner !== undefined; inner = failedInIteration(failed, events))
    failed = inner;
  return withChild(failed);
}

/** The details of an author's own error can have any name, so only failures of calls count. */
const withChild = (failed: FailedNode): FailedNode => {
  const childRunId = failed.error.details?.['childRunId'];
  return failed.error.code.startsWith('subflow_') && typeof childRunId === 'string' ? { ...failed, childRunId } : failed;
};

const failedAttempt = z.object({
  nodeId: z.string(),
  iteration: z.string(),
  attempt: z.int(),
  failure: z.object({
    cause: z.string(),
    message: z.string(),
    code: z.string().optional(),
    details: jsonObject.optional(),
  }),
});

/** The failed node in the iteration that ended the loop; undefined if the node is no such loop. */
function failedInIteration({ nodeId, iteration, error }: FailedNode, events: readonly RunEvent[]): FailedNode | undefined {
  const index = error.details?.['index'];
  if (error.code !== 'loop_item_failed' || typeof index !== 'number' || nodeId === undefined) return undefined;
  const key = `${iteration === undefined ? '' : `${iteration}/`}${nodeId}[${index}]`;
  const failures = events.flatMap(({ type, payload }) => {
    const parsed = type === 'node.retried' || payload['iteration'] !== key ? undefined : failedAttempt.safeParse(payload).data;
    return parsed ?? [];
  });
  const found = failures.findLast((failure) => failure.nodeId === error.details?.['itemNodeId']) ?? failures.at(-1);
  if (found === undefined) return undefined;
  const { cause, message, code = cause, details } = found.failure;
  return { nodeId: found.nodeId, iteration: key, attempt: found.attempt, error: defined({ code, cause, message, details }) };
}

function describeCause(
  { runId, workflowName, nodes, workflowVersion, isTest }: Run,
  { nodeId, iteration, attempt, error: { code, message, details } }: FailedNode,
  calledRuns: readonly string[],
): RootCause {
  return defined({
    runId,
    workflowName,
    calledRuns,
    nodeId,
    iteration,
    step: workflowVersion === null && isTest !== true ? nodes.find((node) => node.nodeId === nodeId)?.label : undefined,
    attempt,
    code,
    message,
    ...readEvidence(details),
  });
}

/** For example: `node charge, attempt 3: the server returned status 402 (http_status). The server answered: {"error":"declined"}` */
export function formatRootCause({ runId, workflowName, calledRuns, ...cause }: RootCause): string {
  const { nodeId, iteration, step, attempt = 1, code, message } = cause;
  const inNode = nodeId === undefined ? [] : [`node ${nodeId}${iteration === undefined ? '' : ` in ${iteration}`}`];
  const node = step === undefined ? inNode : [`step ${step}`];
  const attempts = attempt > 1 ? [`attempt ${attempt}`] : [];
  const run = calledRuns.length === 0 ? [] : [`called run ${runId} (${workflowName})`];
  const where = [...node, ...attempts, ...run].join(', ');
  return `${where === '' ? '' : `${where}: `}${message} (${code})${formatEvidence(cause)}`;
}

export async function readAllEvents(
  client: Pick<StepwellClient, 'listRunEvents'>,
  id: string,
  options: CallOptions,
): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for (let from: { after?: string } = {}; ;) {
    const page = await client.listRunEvents(id, { ...from, limit: 1_000 }, options);
    events.push(...page.data);
    if (!page.hasMore) return events;
    from = { after: page.cursor };
  }
}
