/** Replays a saved history against the code as it is now. */
import type { HistoryDocument } from '../engine/durable/history-document.ts';
import type { History, Turn } from '../engine/durable/turn.ts';
import { attempt, runId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type Instant, instant } from '../engine/time.ts';
import { MemoryClock } from '../memory/clock.ts';
import type { DriveEnd } from '../ports/programs.ts';
import { beginDrive } from '../program/begin-drive.ts';
import { ReplayDivergence, TestFault } from './errors.ts';
import { type AnyWorkflow, isWorkflow } from './given-workflow.ts';
import { readHistory } from './read-history.ts';
import { VirtualTime } from './virtual-time.ts';

/** What the code comes to where its history ends. */
export type Replayed =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: Failure }
  /** it asks for these steps next; none: it waits for those of its history that are not done */
  | { readonly status: 'goes_on'; readonly asks: readonly string[] };

const patienceMs = 250;

/**
 * Replays a history (`run.history()`, or what `stepwell runs export-test` has written) against the workflow as it is now. No body
 * is run.
 * @param given the workflow, or a module that exports the one of the history's name
 * @throws ReplayDivergence where the code asks for something else than it did, or, if the run had completed, does not
 * return any more; TestFault `history_unreadable`
 */
export async function replay(given: AnyWorkflow | Readonly<Record<string, unknown>>, history: unknown): Promise<Replayed> {
  const document = readHistory(history);
  const { workflowName } = document.run;
  const exported: readonly unknown[] = Object.values(given);
  const workflow = isWorkflow(given) ? given : exported.find((each) => isWorkflow(each) && each.spec.name === workflowName);
  if (!isWorkflow(workflow)) throw new TestFault('workflow_unknown', `there is no workflow ${workflowName} here`);
  const { turn, end } = await played(workflow, document);
  if (end.kind === 'diverged') throw new ReplayDivergence(end.message, end.details);
  if (end.kind !== 'over') throw new TestFault('workflow_unusable', end.message);
  const came = cameTo(turn);
  if (document.end.status === 'completed' && came.status !== 'completed')
    throw new ReplayDivergence(`this run has completed here, and the code now ${instead(came)}`, {
      recorded: 'completed',
      asked: came.status === 'goes_on' ? came.asks : null,
    });
  return came;
}

const instead = (came: Exclude<Replayed, { status: 'completed' }>): string => {
  if (came.status === 'failed') return `throws ${JSON.stringify(came.error.message)}`;
  return came.asks.length === 0 ? 'waits' : `asks for ${came.asks.map((key) => JSON.stringify(key)).join(', ')}`;
};

function cameTo(turn: Turn | undefined): Replayed {
  const entries = turn?.entries ?? [];
  for (const entry of entries) {
    if (entry.kind === 'returned') return { status: 'completed', output: entry.output };
    if (entry.kind === 'threw') return { status: 'failed', error: entry.failure };
  }
  return { status: 'goes_on', asks: entries.flatMap((entry) => (entry.kind === 'asked' ? [entry.command.key] : [])) };
}

async function played(workflow: AnyWorkflow, document: HistoryDocument): Promise<{ turn: Turn | undefined; end: DriveEnd }> {
  const { run, replayVersion, input } = document;
  const { id, workflowName, version } = run;
  const history = historyIn(document);
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
  const renamed = { ...workflow, spec: { ...spec, name: workflowName, ...(version === null ? {} : { version }) } };
  let turn: Turn | undefined;
  const drive = beginDrive(
    [renamed],
    { run: facts, replayVersion, input, history, handsOnAt: instant(clock.now() + farMs) },
    {
      turn: async (said) => {
        turn ??= said;
        return { kind: 'stop' };
      },
      perform: () => new Promise(() => {}),
    },
    { deploymentId: 'under-test', clock: time.ofPrograms, print: () => {} },
  );
  let end: DriveEnd | undefined;
  void drive.ended.then((ended) => (end = ended));
  const begunAt = performance.now();
  while (end === undefined) {
    await time.quiet();
    if (performance.now() - begunAt > patienceMs) time.jump([], true, Infinity);
  }
  return { turn, end };
}

const farMs = 86_400_000;

const timeOf = (text: string): Instant => instant(Date.parse(text));

const historyIn = ({ entries, kept, attempt: number }: HistoryDocument): History<JsonValue> => ({
  entries: entries.map((entry) =>
    entry.kind === 'asked' ? entry : { ...entry, result: { ...entry.result, endedAt: timeOf(entry.result.endedAt) } },
  ),
  kept: kept.map((each) => ({ ...each, endedAt: timeOf(each.endedAt) })),
  open: [],
  attempt: attempt(number),
  stepAttempts: entries.length,
});
