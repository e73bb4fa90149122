/** `stepwell runs start-batch <file>`: starts a run for each entry of a file or of stdin, a hundred in each request. */
import * as z from 'zod';
import { maxShownRows } from './bulk-operation.ts';
import { bulkStartTime, newBulkId } from './bulk-runs.ts';
import { maxBatchStarts } from '../../api/schemas/runs.ts';
import { type Action, type CommandContext, type ExitCode, type Outcome, exitCodes, usageError } from '../command.ts';
import { formatTable, quantity } from '../format.ts';
import { anyWorkflowName, file, parseArgument, parseJson, parseOptions, readText } from '../parse-command-line.ts';
import { type BatchStart, ComputeClientError, type StepwellClient, TransportComputeClientError } from '../../client/index.ts';
import { defined } from '../../base/defined.ts';
import type { JsonValue } from '../../engine/json.ts';

const options = z.object({ workflow: anyWorkflowName.optional(), bulkId: z.string().optional() });

interface Entry {
  /** the element of the array, or the line, from 1 */
  readonly entry: number;
  readonly start: BatchStart & { readonly idempotencyKey: string };
}

/** `repeated`: an earlier request with the same key started the run. `not_tried`: nothing says whether the run was started */
type EntryOutcome =
  | { readonly entry: number; readonly outcome: 'started' | 'repeated'; readonly runId: string }
  | { readonly entry: number; readonly outcome: 'failed'; readonly code?: string; readonly message: string }
  | { readonly entry: number; readonly outcome: 'not_tried' };

export const startBatch: Action = async (commandLine, context) => {
  const path = parseArgument(commandLine, 0, 'file', file);
  const { workflow, bulkId: givenId } = parseOptions(commandLine, options);
  const now = context.now();
  const bulkId = givenId ?? newBulkId(now, context.newId());
  bulkStartTime(bulkId, now);
  const isPiped = path === '-';
  const source = isPiped ? 'stdin' : path;
  const text = isPiped ? await context.readInput() : readText(context.cwd, path);
  const entries = entriesOf(valuesIn(text, source), { source, workflow, bulkId });
  if (entries.length === 0) throw usageError(`${source} has no entry.`);
  const client = await context.client();
  context.log(`If this is interrupted, continue with --bulk-id ${bulkId} and the same ${isPiped ? 'input' : 'file'}.`);
  const outcomes: EntryOutcome[] = [];
  for (let first = 0; first < entries.length; first += maxBatchStarts) {
    const started = await startAll(client, entries.slice(first, first + maxBatchStarts), context.signal);
    if (started === undefined) break;
    outcomes.push(...started);
    context.log(`${outcomes.length} of ${entries.length}`);
  }
  for (const { entry } of entries.slice(outcomes.length)) outcomes.push({ entry, outcome: 'not_tried' });
  return report(context, bulkId, outcomes);
};

/** A JSON array, or a value on each line. Empty lines do not count as entries, but keep their number. */
function valuesIn(text: string, source: string): readonly (readonly [number, JsonValue])[] {
  if (text.trimStart().startsWith('[')) {
    const parsed = parseJson(text, source);
    if (Array.isArray(parsed)) return parsed.map((value, index) => [index + 1, value]);
  }
  return text
    .split('\n')
    .flatMap((line, index) =>
      line.trim() === '' ? [] : [[index + 1, parseJson(line, `Line ${index + 1} of ${source}`)] as const],
    );
}

/** Only the form is checked; the API validates the content. A start without a key gets one that a repeated command has too. */
function entriesOf(
  values: readonly (readonly [number, JsonValue])[],
  { source, workflow, bulkId }: { readonly source: string; readonly workflow: string | undefined; readonly bulkId: string },
): readonly Entry[] {
  return values.map(([entry, value]) => {
    const idempotencyKey = `${bulkId}:${entry}`;
    if (workflow !== undefined) return { entry, start: { workflowName: workflow, input: value, idempotencyKey } };
    const parsed = startShape.safeParse(value);
    if (!parsed.success)
      throw usageError(
        `Entry ${entry} of ${source} is no start: a JSON object with workflowName, and input. With --workflow each entry is an input.`,
      );
    return { entry, start: { ...parsed.data, idempotencyKey: parsed.data.idempotencyKey ?? idempotencyKey } };
  });
}

const startShape = z.looseObject({ workflowName: z.string(), idempotencyKey: z.string().optional() });

/** What one start can cause for the whole request. */
const splitCodes: ReadonlySet<string | undefined> = new Set(['invalid_request', 'payload_too_large']);

const failed = (
  entry: number,
  { code, message }: { readonly code?: string | undefined; readonly message: string },
): EntryOutcome => defined({ entry, outcome: 'failed', code, message });

/**
 * Starts these entries. The API refuses a request as a whole if one start of it is not valid. Then each half is sent alone, until the
 * invalid starts are alone.
 * @returns undefined if the service did not respond, or Ctrl-C aborted a request
 */
async function startAll(
  client: StepwellClient,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly EntryOutcome[] | undefined> {
  try {
    const { data } = await client.triggerBatch(
      entries.map(({ start }) => start),
      { signal },
    );
    return entries.map(({ entry }, index) => outcomeOf(entry, data[index]));
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!(error instanceof ComputeClientError)) throw error;
    if (error instanceof TransportComputeClientError && error.kind !== 'response') return undefined;
    // Every start of this key is refused, for example because it lacks the scope.
    if (!splitCodes.has(error.code)) throw error;
    const [only, another] = entries;
    if (only !== undefined && another === undefined) return [failed(only.entry, error)];
    const middle = Math.ceil(entries.length / 2);
    const first = await startAll(client, entries.slice(0, middle), signal);
    const second = first && (await startAll(client, entries.slice(middle), signal));
    return second && [...first, ...second];
  }
}

function outcomeOf(entry: number, answer: BatchAnswer | undefined): EntryOutcome {
  if (answer?.run !== undefined)
    return { entry, outcome: answer.run.isReplay === true ? 'repeated' : 'started', runId: answer.run.runId };
  return failed(entry, answer?.error ?? { message: 'The response has no outcome for this start.' });
}

type BatchAnswer = Awaited<ReturnType<StepwellClient['triggerBatch']>>['data'][number];

const tones = { started: 'good', repeated: 'dim', failed: 'bad', not_tried: 'warn' } as const;
const shapes = { started: '✓ started', repeated: '– started before', failed: '✗ failed', not_tried: '! not tried' } as const;
/** If not all rows fit, failures come first. */
const shownOrder = ['failed', 'not_tried', 'repeated', 'started'];

function report(context: CommandContext, bulkId: string, outcomes: readonly EntryOutcome[]): Outcome {
  const count = (outcome: EntryOutcome['outcome']): number => outcomes.filter((each) => each.outcome === outcome).length;
  const counts = {
    started: count('started'),
    repeated: count('repeated'),
    failed: count('failed'),
    notTried: count('not_tried'),
  };
  const shown = outcomes
    .toSorted((left, right) => shownOrder.indexOf(left.outcome) - shownOrder.indexOf(right.outcome))
    .slice(0, maxShownRows);
  const detailOf = (each: EntryOutcome): string => {
    if ('runId' in each) return each.runId;
    return 'message' in each ? [each.code, each.message].filter((part) => part !== undefined).join(': ') : '';
  };
  const rows = shown.map((each) => [
    String(each.entry),
    context.colorize(tones[each.outcome], shapes[each.outcome]),
    detailOf(each),
  ]);
  const lines = [
    formatTable(context, ['entry', 'outcome', ''], rows),
    ...(shown.length < outcomes.length ? [`… and ${outcomes.length - shown.length} more: --json prints all.`] : []),
    `${quantity(counts.started, 'run')} started, ${counts.repeated} started before, ${counts.failed} failed, ${counts.notTried} not tried.`,
    ...(counts.failed + counts.notTried > 0
      ? [`Repeat the command with --bulk-id ${bulkId} to start only what is missing.`]
      : []),
  ];
  return { data: { bulkId, counts, items: outcomes }, text: lines.join('\n'), exitCode: exitCodeOf(context, counts) };
}

function exitCodeOf(
  { signal }: CommandContext,
  { failed, notTried }: { readonly failed: number; readonly notTried: number },
): ExitCode {
  if (signal.aborted) return exitCodes.interrupted;
  if (notTried > 0) return exitCodes.unreachable;
  return failed > 0 ? exitCodes.failed : exitCodes.ok;
}
