/** Replays a saved history against the code as it is now. */
import { defined } from '../engine/defined.ts';
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

/** What the code comes to where its history ends. */
export type ReplayResult =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: Failure }
  /** it asks for these steps next; none: it waits for those of its history that are not done */
  | { readonly status: 'waiting'; readonly nextSteps: readonly string[] };

const nonStepTimeoutMs = 250;

/**
 * Replays a history (`run.history()`, or what `stepwell runs export-test` has written) against the workflow as it is now. No body
 * is run.
 * @param source the workflow, or a module that exports the one of the history's name
 * @throws NondeterminismError where the code asks for something else than it did, or, if the run had completed, does not
 * return any more; TestError `history_invalid`
 */
export async function replay(source: AnyWorkflow | Readonly<Record<string, unknown>>, history: unknown): Promise<ReplayResult> {
  const document = parseHistory(history);
  const { workflowName } = document.run;
  const exported: readonly unknown[] = Object.values(source);
  const workflow = isWorkflow(source) ? source : exported.find((each) => isWorkflow(each) && each.spec.name === workflowName);
  if (!isWorkflow(workflow)) throw new TestError('workflow_unknown', `there is no workflow ${workflowName} here`);
  const { turn, end } = await runReplay(workflow, document);
  if (end.kind === 'nondeterministic') throw new NondeterminismError(end.message, end.details);
  if (end.kind !== 'finished') throw new TestError('workflow_invalid', end.message);
  const result = resultOf(turn);
  if (document.end.status === 'completed' && result.status !== 'completed')
    throw new NondeterminismError(`this run has completed here, and the code now ${describeResult(result)}`, {
      recorded: 'completed',
      requested: result.status === 'waiting' ? result.nextSteps : null,
    });
  return result;
}

const describeResult = (result: Exclude<ReplayResult, { status: 'completed' }>): string => {
  if (result.status === 'failed') return `throws ${JSON.stringify(result.error.message)}`;
  return result.nextSteps.length === 0 ? 'waits' : `asks for ${result.nextSteps.map((key) => JSON.stringify(key)).join(', ')}`;
};

function resultOf(turn: CommandBatch | undefined): ReplayResult {
  const entries = turn?.entries ?? [];
  for (const entry of entries) {
    if (entry.kind === 'returned') return { status: 'completed', output: entry.output };
    if (entry.kind === 'threw') return { status: 'failed', error: entry.failure };
  }
  return { status: 'waiting', nextSteps: entries.flatMap((entry) => (entry.kind === 'scheduled' ? [entry.command.key] : [])) };
}

async function runReplay(
  workflow: AnyWorkflow,
  document: HistoryDocument,
): Promise<{ turn: CommandBatch | undefined; end: WorkflowTaskEnd }> {
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
  // It is the given one that is replayed, whatever it is called by now.
  const { version: _now, ...spec } = workflow.spec;
  const renamed = {
    ...workflow,
    spec: defined({ ...spec, name: workflowName, version: version === null ? undefined : version }),
  };
  let turn: CommandBatch | undefined;
  const drive = startWorkflowTask(
    [renamed],
    { run: facts, replayVersion, input, history, handOffAt: instant(clock.now() + dayMs) },
    {
      commitBatch: async (said) => {
        turn ??= said;
        return { kind: 'stop' };
      },
      perform: () => new Promise(() => {}),
    },
    { deploymentId: 'under-test', clock: time.programClock, print: () => {} },
  );
  let end: WorkflowTaskEnd | undefined;
  void drive.ended.then((ended) => (end = ended));
  const startedAt = performance.now();
  while (end === undefined) {
    await time.waitUntilIdle();
    if (performance.now() - startedAt > nonStepTimeoutMs) time.advanceToNext([], true, Infinity);
  }
  return { turn, end };
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
