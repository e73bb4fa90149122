/** Applies one operation to many runs: counts them, asks for confirmation, continues after failures, and reports each result. */
import * as z from 'zod';
import { CliError, type CommandContext, type ExitCode, exitCodes, type Outcome } from '../command.ts';
import { formatTable, quantity } from '../format.ts';
import { integerBetween } from '../parse-command-line.ts';
import { ComputeClientError, type RunSummary, TransportComputeClientError } from '../../client/index.ts';

export const bulkOptions = {
  yes: z.boolean().default(false),
  maxRuns: integerBetween(1, 1_000_000).default(10_000),
  concurrency: integerBetween(1, 16).default(4),
};
const bulkSchema = z.object(bulkOptions);

/** `skipped`: the run had ended already */
interface BulkItem {
  readonly runId: string;
  readonly outcome: 'done' | 'skipped' | 'failed' | 'not_tried';
  readonly detail: string;
}

export interface BulkOperation {
  /** the operation, such as `cancel` */
  readonly verb: string;
  readonly runs: AsyncIterable<RunSummary>;
  /** returns the result and a detail for its row; an error of the client fails only this run */
  readonly apply: (run: RunSummary) => Promise<Pick<BulkItem, 'detail'> & { readonly outcome: 'done' | 'skipped' }>;
  /** printed with the counts */
  readonly extraData?: Readonly<Record<string, string>>;
}

/** Rows that are printed; `--json` prints all. */
export const maxShownRows = 100;
/** After this many consecutive requests without a response, the operation stops. */
const maxConsecutiveUnreachable = 5;

export async function runBulkOperation(
  context: CommandContext,
  options: z.output<typeof bulkSchema>,
  bulk: BulkOperation,
): Promise<Outcome> {
  const { runs, hasMore } = await collectRuns(context, options.maxRuns, bulk.runs);
  const extraData = bulk.extraData ?? {};
  if (runs.length === 0) return { data: summary(extraData, [], hasMore), text: 'No run matches.' };
  const moreNotice = hasMore ? ` More runs match; these are the newest ${options.maxRuns}.` : '';
  const question = `${quantity(runs.length, 'run')} would be affected: ${bulk.verb} ${runs.length === 1 ? 'it' : 'them'}?${moreNotice}`;
  if (!options.yes && !(await context.confirm(question))) throw new CliError('declined', 'Nothing was changed.');
  const { done, exitCode } = await applyToRuns(context, runs, options.concurrency, bulk);
  const data = summary(extraData, done, hasMore);
  return { data, text: formatBulkOutcome(context, done, data), exitCode };
}

async function collectRuns(context: CommandContext, maxRuns: number, source: AsyncIterable<RunSummary>) {
  // A run whose status changes during the listing can be listed twice.
  const runs = new Map<string, RunSummary>();
  for await (const run of source) {
    // Neither cancelling nor rerunning applies to a run that a worker of the package openworkflow executes.
    if (run.isExternal === true || runs.has(run.runId)) continue;
    if (runs.size === maxRuns) return { runs: [...runs.values()], hasMore: true };
    runs.set(run.runId, run);
    if (runs.size % 1_000 === 0) context.log(`${runs.size} runs match so far …`);
  }
  return { runs: [...runs.values()], hasMore: false };
}

async function applyToRuns(
  context: CommandContext,
  runs: readonly RunSummary[],
  concurrency: number,
  { apply }: BulkOperation,
): Promise<{ done: readonly BulkItem[]; exitCode: ExitCode }> {
  const done = new Map<string, BulkItem>();
  let unreachableInARow = 0;
  let next = 0;
  const isStopped = (): boolean => context.signal.aborted || unreachableInARow >= maxConsecutiveUnreachable;
  const runWorker = async (): Promise<void> => {
    for (;;) {
      const run = runs[next];
      if (run === undefined || isStopped()) return;
      next += 1;
      const result = await applyToRun(run, apply).catch((error: unknown) => {
        if (context.signal.aborted) return undefined;
        throw error;
      });
      // The outcome of a request that Ctrl-C aborted is unknown; the run counts as not tried.
      if (result === undefined) return;
      unreachableInARow = result.isUnreachable ? unreachableInARow + 1 : 0;
      done.set(run.runId, { runId: run.runId, outcome: result.outcome, detail: result.detail });
      if (done.size % 25 === 0 || done.size === runs.length) context.log(`${done.size} of ${runs.length}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runWorker));
  const all = runs.map(({ runId }) => done.get(runId) ?? { runId, outcome: 'not_tried' as const, detail: '' });
  if (context.signal.aborted) return { done: all, exitCode: exitCodes.interrupted };
  if (isStopped()) return { done: all, exitCode: exitCodes.unreachable };
  return { done: all, exitCode: all.some(({ outcome }) => outcome === 'failed') ? exitCodes.failed : exitCodes.ok };
}

const applyToRun = async (run: RunSummary, apply: BulkOperation['apply']) => {
  try {
    return { ...(await apply(run)), isUnreachable: false };
  } catch (error) {
    if (!(error instanceof ComputeClientError)) throw error;
    // The run ended after it was listed.
    if (error.code === 'run_terminal')
      return { outcome: 'skipped' as const, detail: 'it has ended already', isUnreachable: false };
    const isUnreachable = error instanceof TransportComputeClientError && error.kind !== 'response';
    return { outcome: 'failed' as const, detail: error.message, isUnreachable };
  }
};

const summary = (extraData: Readonly<Record<string, string>>, done: readonly BulkItem[], hasMore: boolean) => ({
  ...extraData,
  counts: {
    done: done.filter(({ outcome }) => outcome === 'done').length,
    skipped: done.filter(({ outcome }) => outcome === 'skipped').length,
    failed: done.filter(({ outcome }) => outcome === 'failed').length,
    notTried: done.filter(({ outcome }) => outcome === 'not_tried').length,
  },
  hasMore,
  items: done,
});

function formatBulkOutcome(
  context: CommandContext,
  done: readonly BulkItem[],
  { counts, hasMore }: ReturnType<typeof summary>,
): string {
  const tones = { done: 'good', skipped: 'dim', failed: 'bad', not_tried: 'warn' } as const;
  const shapes = { done: '✓ done', skipped: '– skipped', failed: '✗ failed', not_tried: '! not tried' } as const;
  // If not all rows fit, failures come first.
  const order = ['failed', 'not_tried', 'skipped', 'done'];
  const shown = done.toSorted((left, right) => order.indexOf(left.outcome) - order.indexOf(right.outcome)).slice(0, maxShownRows);
  const rows = shown.map(({ runId, outcome, detail }) => [runId, context.colorize(tones[outcome], shapes[outcome]), detail]);
  return [
    formatTable(context, ['run', 'outcome', ''], rows),
    ...(shown.length < done.length ? [`… and ${done.length - shown.length} more: --json prints all.`] : []),
    `${counts.done} done, ${counts.skipped} skipped, ${counts.failed} failed, ${counts.notTried} not tried.`,
    ...(hasMore ? ['More runs match: repeat the command, or use a larger --max-runs.'] : []),
  ].join('\n');
}
