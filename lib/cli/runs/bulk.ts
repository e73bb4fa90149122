/** Does one thing to many runs: counts them, asks, goes on after a failure, and says what happened to each. */
import type { RunSummary } from '../../client/index.ts';
import { ComputeClientError, TransportComputeClientError } from '../../client/index.ts';
import * as z from 'zod';
import { CliFault, type ExitCode, type Outcome, type Shell, exitCodes } from '../command.ts';
import { count } from '../given.ts';
import { many, table } from '../words.ts';

export const bulkOptions = {
  yes: z.boolean().default(false),
  most: count(1, 1_000_000).default(10_000),
  concurrency: count(1, 16).default(4),
};
const optionShape = z.object(bulkOptions);

/** `skipped`: there was nothing to do any more */
interface Done {
  readonly runId: string;
  readonly outcome: 'done' | 'skipped' | 'failed' | 'not_tried';
  readonly detail: string;
}

export interface Bulk {
  /** what is done, such as `cancel` */
  readonly verb: string;
  readonly runs: AsyncIterable<RunSummary>;
  /** with what is said about it; an error of the client is a failure of this run only */
  readonly each: (run: RunSummary) => Promise<Pick<Done, 'detail'> & { readonly outcome: 'done' | 'skipped' }>;
  /** beside the counts, in the answer */
  readonly facts?: Readonly<Record<string, string>>;
}

/** Failures told on the screen; `--json` tells all. */
const mostRows = 100;
/** So often in a row without an answer, and the service is not there. */
const mostUnreachable = 5;

export async function inBulk(shell: Shell, options: z.output<typeof optionShape>, bulk: Bulk): Promise<Outcome> {
  const { runs, hasMore } = await gathered(shell, options.most, bulk.runs);
  const facts = bulk.facts ?? {};
  if (runs.length === 0) return { data: summary(facts, [], hasMore), text: 'No run matches.' };
  const capped = hasMore ? ` There are more; these are the newest ${options.most}.` : '';
  const question = `${many(runs.length, 'run')} would be affected: ${bulk.verb} ${runs.length === 1 ? 'it' : 'them'}?${capped}`;
  if (!options.yes && !(await shell.confirm(question))) throw new CliFault('declined', 'Nothing was done.');
  const { done, exitCode } = await worked(shell, runs, options.concurrency, bulk);
  const data = summary(facts, done, hasMore);
  return { data, text: told(shell, done, data), exitCode };
}

async function gathered(shell: Shell, most: number, source: AsyncIterable<RunSummary>) {
  // A run whose status changes meanwhile may be listed twice.
  const runs = new Map<string, RunSummary>();
  for await (const run of source) {
    if (runs.has(run.runId)) continue;
    if (runs.size === most) return { runs: [...runs.values()], hasMore: true };
    runs.set(run.runId, run);
    if (runs.size % 1_000 === 0) shell.note(`${runs.size} runs match so far …`);
  }
  return { runs: [...runs.values()], hasMore: false };
}

async function worked(
  shell: Shell,
  runs: readonly RunSummary[],
  concurrency: number,
  { each }: Bulk,
): Promise<{ done: readonly Done[]; exitCode: ExitCode }> {
  const done = new Map<string, Done>();
  let unreachableInARow = 0;
  let next = 0;
  const isStopped = (): boolean => shell.signal.aborted || unreachableInARow >= mostUnreachable;
  const work = async (): Promise<void> => {
    for (;;) {
      const run = runs[next];
      if (run === undefined || isStopped()) return;
      next += 1;
      const came = await tried(run, each).catch((trouble: unknown) => {
        if (shell.signal.aborted) return undefined;
        throw trouble;
      });
      // What Ctrl-C broke off may have been carried out or not: it was not tried to its end.
      if (came === undefined) return;
      unreachableInARow = came.isUnreachable ? unreachableInARow + 1 : 0;
      done.set(run.runId, { runId: run.runId, outcome: came.outcome, detail: came.detail });
      if (done.size % 25 === 0 || done.size === runs.length) shell.note(`${done.size} of ${runs.length}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const all = runs.map(({ runId }) => done.get(runId) ?? { runId, outcome: 'not_tried' as const, detail: '' });
  if (shell.signal.aborted) return { done: all, exitCode: exitCodes.interrupted };
  if (isStopped()) return { done: all, exitCode: exitCodes.unreachable };
  return { done: all, exitCode: all.some(({ outcome }) => outcome === 'failed') ? exitCodes.failed : exitCodes.ok };
}

const tried = async (run: RunSummary, each: Bulk['each']) => {
  try {
    return { ...(await each(run)), isUnreachable: false };
  } catch (trouble) {
    if (!(trouble instanceof ComputeClientError)) throw trouble;
    // It has ended meanwhile, by itself or by somebody else.
    if (trouble.code === 'run_terminal')
      return { outcome: 'skipped' as const, detail: 'it has ended already', isUnreachable: false };
    const isUnreachable = trouble instanceof TransportComputeClientError && trouble.kind !== 'answer';
    return { outcome: 'failed' as const, detail: trouble.message, isUnreachable };
  }
};

const summary = (facts: Readonly<Record<string, string>>, done: readonly Done[], hasMore: boolean) => ({
  ...facts,
  counts: {
    done: done.filter(({ outcome }) => outcome === 'done').length,
    skipped: done.filter(({ outcome }) => outcome === 'skipped').length,
    failed: done.filter(({ outcome }) => outcome === 'failed').length,
    notTried: done.filter(({ outcome }) => outcome === 'not_tried').length,
  },
  hasMore,
  items: done,
});

function told(shell: Shell, done: readonly Done[], { counts, hasMore }: ReturnType<typeof summary>): string {
  const tones = { done: 'good', skipped: 'dim', failed: 'bad', not_tried: 'warn' } as const;
  const shapes = { done: '✓ done', skipped: '– skipped', failed: '✗ failed', not_tried: '! not tried' } as const;
  // Where not all find room, what went wrong does first.
  const order = ['failed', 'not_tried', 'skipped', 'done'];
  const shown = done.toSorted((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome)).slice(0, mostRows);
  const rows = shown.map(({ runId, outcome, detail }) => [runId, shell.paint(tones[outcome], shapes[outcome]), detail]);
  return [
    table(shell, ['run', 'outcome', ''], rows),
    ...(shown.length < done.length ? [`… and ${done.length - shown.length} more: --json tells all.`] : []),
    `${counts.done} done, ${counts.skipped} skipped, ${counts.failed} failed, ${counts.notTried} not tried.`,
    ...(hasMore ? ['More runs match: once more, or with a larger --most.'] : []),
  ].join('\n');
}
