/** Replays a saved history against the current code. */
import { defined } from '../base/defined.ts';
import type { HistoryDocument } from '../engine/durable/history-document.ts';
import type { History, CommandBatch } from '../engine/durable/command-batch.ts';
import { attempt, runId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type Instant, instant } from '../engine/time.ts';
import { MemoryClock } from '../memory/clock.ts';
import type { WorkflowTaskEnd } from '../ports/programs.ts';
import { startWorkflowTask } from '../program/start-workflow-task.ts';
import { NondeterminismError, TestError } from './errors.ts';
import { type AnyWorkflow, isWorkflow } from './workflow-fixture.ts';
import { parseHistory } from './parse-history.ts';
import { VirtualTime } from './virtual-time.ts';

/** The state of the code at the end of its history. */
export type ReplayResult =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: Failure }
  /** it requests these steps next; none: it waits for steps of its history that have not completed */
  | { readonly status: 'waiting'; readonly nextSteps: readonly string[] };

const nonStepTimeoutMs = 250;

/**
 * Replays a history (`run.history()`, or the file of `stepwell runs export-test`) against the current workflow. Runs no step
 * function.
 * @param source the workflow, or a module that exports the workflow with the history's name
 * @throws NondeterminismError where the code requests another step than it did, or where the run had completed and the code
 * no longer returns; TestError `history_invalid`
 */
export async function replay(source: AnyWorkflow | Readonly<Record<string, unknown>>, history: unknown): Promise<ReplayResult> {
  const document = parseHistory(history);
  const { workflowName } = document.run;
  const exported: readonly unknown[] = Object.values(source);
  const workflow = isWorkflow(source) ? source : exported.find((each) => isWorkflow(each) && each.spec.name === workflowName);
  if (!isWorkflow(workflow)) throw new TestError('workflow_unknown', `the source exports no workflow ${workflowName}`);
  const { batch, end } = await runReplay(workflow, document);
  if (end.kind === 'nondeterministic') throw new NondeterminismError(end.message, end.details);
  if (end.kind !== 'finished') throw new TestError('workflow_invalid', end.message);
  const result = resultOf(batch);
  if (document.end.status === 'completed' && result.status !== 'completed')
    throw new NondeterminismError(`this run completed, and the code now ${describeResult(result)}`, {
      recorded: 'completed',
      requested: result.status === 'waiting' ? result.nextSteps : null,
    });
  return result;
}

const describeResult = (result: Exclude<ReplayResult, { status: 'completed' }>): string => {
  if (result.status === 'failed') return `throws ${JSON.stringify(result.error.message)}`;
  return result.nextSteps.length === 0 ? 'waits' : `requests ${result.nextSteps.map((key) => JSON.stringify(key)).join(', ')}`;
};

function resultOf(batch: CommandBatch | undefined): ReplayResult {
  const entries = batch?.entries ?? [];
  for (const entry of entries) {
    if (entry.kind === 'returned') return { status: 'completed', output: entry.output };
    if (entry.kind === 'threw') return { status: 'failed', error: entry.failure };
  }
  return { status: 'waiting', nextSteps: entries.flatMap((entry) => (entry.kind === 'scheduled' ? [entry.command.key] : [])) };
}

async function runReplay(
  workflow: AnyWorkflow,
  document: HistoryDocument,
): Promise<{ batch: CommandBatch | undefined; end: WorkflowTaskEnd }> {
  const { run, replayVersion, input } = document;
  const { id, workflowName, version } = run;
  const history = historyOf(document);
  const ends = history.entries.flatMap((entry) => (entry.kind === 'settled' ? [entry.result.endedAt] : []));
  const clock = new MemoryClock(instant(Math.max(timeOf(run.createdAt), ...ends)));
  const time = new VirtualTime(clock);
  const facts = {
    runId: runId(id),
    workflowName,
    version,
    createdAt: timeOf(run.createdAt),
    deadlineAt: timeOf(run.deadlineAt),
  };
  // The given workflow is replayed under the history's name and version.
  const { version: _now, ...spec } = workflow.spec;
  const renamed = {
    ...workflow,
    spec: defined({ ...spec, name: workflowName, version: version === null ? undefined : version }),
  };
  let batch: CommandBatch | undefined;
  const task = startWorkflowTask(
    [renamed],
    { run: facts, replayVersion, input, history, handOffAt: instant(clock.now() + dayMs) },
    {
      commitBatch: async (commandBatch) => {
        batch ??= commandBatch;
        return { kind: 'stop' };
      },
      perform: () => new Promise(() => {}),
    },
    { deploymentId: 'under-test', clock: time.programClock, print: () => {} },
  );
  let end: WorkflowTaskEnd | undefined;
  void task.ended.then((ended) => (end = ended));
  const startedAt = performance.now();
  while (end === undefined) {
    await time.waitUntilIdle();
    if (performance.now() - startedAt > nonStepTimeoutMs) time.advanceToNext([], true, Infinity);
  }
  return { batch, end };
}

const dayMs = 86_400_000;

const timeOf = (text: string): Instant => instant(Date.parse(text));

const historyOf = ({ entries, priorResults, attempt: number }: HistoryDocument): History<JsonValue> => ({
  entries: entries.map((entry) =>
    entry.kind === 'scheduled' ? entry : { ...entry, result: { ...entry.result, endedAt: timeOf(entry.result.endedAt) } },
  ),
  priorResults: priorResults.map((each) => ({ ...each, endedAt: timeOf(each.endedAt) })),
  open: [],
  attempt: attempt(number),
  stepAttempts: entries.length,
});
