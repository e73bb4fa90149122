/** Why a run failed, step by step: through loops and called runs, down to the attempt that failed first and the author's line. */
import { defined } from '../../base/defined.ts';
import { type Run, api } from '../api.ts';

type Failure = NonNullable<Run['error']>;

export interface CauseStep {
  readonly runId: string;
  readonly workflowName: string;
  readonly nodeId?: string;
  readonly iteration?: string;
  readonly attempt?: number;
  readonly error: Failure;
  /** the author's line, such as `workflows/order.ts:12:7`, or `line 3 of its script` */
  readonly at?: string;
}

/** What the chain reads of other runs and nodes. */
export interface CauseReader {
  readonly run: (runId: string) => Promise<Run>;
  readonly failureOf: (
    runId: string,
    nodeId: string,
    iteration: string,
  ) => Promise<{ readonly error: Failure | undefined; readonly attempt: number }>;
}

export const causeReader = (signal: AbortSignal): CauseReader => ({
  run: (runId) => api.run(runId, { resolveData: 'none' }, signal),
  failureOf: async (runId, nodeId, iteration) => {
    const { node } = await api.runNode(runId, nodeId, { iteration }, signal);
    return { error: node.error, attempt: node.attempt };
  },
});

/** More than the levels of calls and loops that the service allows. */
const maxSteps = 40;

/** The root cause of the run first; each later step is the cause of the one before. Empty: the run has none to follow. */
export async function causeChain(run: Run, read: CauseReader): Promise<readonly CauseStep[]> {
  const steps: CauseStep[] = [];
  let step: CauseStep | undefined = firstStep(run);
  while (step !== undefined && steps.length < maxSteps) {
    steps.push(step);
    step = await nextStep(step, read);
  }
  return steps;
}

const firstStep = ({ runId, workflowName, rootCause, error }: Run): CauseStep | undefined => {
  if (rootCause === undefined) return error === undefined ? undefined : withLine({ runId, workflowName, error });
  const { nodeId, iteration, attempt, error: cause } = rootCause;
  return withLine(defined({ runId, workflowName, nodeId, iteration, attempt, error: cause }));
};

async function nextStep(step: CauseStep, read: CauseReader): Promise<CauseStep | undefined> {
  const { runId, workflowName, nodeId, iteration, error } = step;
  const { index, itemNodeId, childRunId } = error.details ?? {};
  // The details of an author's own error can have any name, so only failures of loops and calls count.
  if (error.code === 'loop_item_failed' && nodeId !== undefined && typeof index === 'number' && typeof itemNodeId === 'string') {
    const key = `${iteration === undefined ? '' : `${iteration}/`}${nodeId}[${index}]`;
    const inner = await read.failureOf(runId, itemNodeId, key);
    if (inner.error === undefined) return undefined;
    return withLine({ runId, workflowName, nodeId: itemNodeId, iteration: key, attempt: inner.attempt, error: inner.error });
  }
  if (error.code.startsWith('subflow_') && typeof childRunId === 'string') return firstStep(await read.run(childRunId));
  return undefined;
}

function withLine(step: CauseStep): CauseStep {
  const { at, line, column } = step.error.details ?? {};
  if (typeof at === 'string') return { ...step, at };
  if (typeof line !== 'number') return step;
  return {
    ...step,
    at: typeof column === 'number' ? `line ${line}, column ${column} of its script` : `line ${line} of its script`,
  };
}
