/** Resolves how a command line names a run: a whole id, the unique beginning of one, or `latest`. */
import { type CommandContext, CliError, type CommandLine, usageError } from './command.ts';
import { runId } from './parse-command-line.ts';
import { errorCatalogue as errors } from '../api/errors.ts';
import { parseExternalRunId } from '../engine/external/run.ts';
import type { RunSummary, StepwellClient } from '../client/index.ts';

const idPrefix = 'wrun_';
/** The digits of a ULID: https://github.com/ulid/spec. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** The first digits of a ULID are its time in ms. */
const timeDigits = 10;
/** So that a typing error does not select a run. All runs of 12 days share this many digits. */
const minDigits = 4;
/** Candidates that an error message names. */
const maxNamed = 5;
const partPattern = new RegExp(`^(?:${idPrefix})?([${digits}]{${minDigits},26})$`);

type Client = Pick<StepwellClient, 'eachRun' | 'listRuns'>;

/**
 * The run that the first argument names.
 * @param acceptsExternal true for commands that also apply to external-worker runs
 * @param acceptsLatest false for commands that change a run: a run that starts meanwhile must not be changed instead
 * @throws CliError if no run, or several runs, match
 */
export async function readRunReference(
  { args }: CommandLine,
  context: Pick<CommandContext, 'client' | 'signal'>,
  {
    acceptsLatest = false,
    acceptsExternal = false,
  }: { readonly acceptsLatest?: boolean; readonly acceptsExternal?: boolean } = {},
): Promise<string> {
  const [given] = args;
  const whole = runId.safeParse(given);
  if (whole.success) return whole.data;
  const external = parseExternalRunId(given ?? '');
  if (external !== undefined && acceptsExternal) return external;
  if (external !== undefined) throw notApplicable();
  const forms = `a run id, such as wrun_01M7XSDTEE14XW69VBQD8BT3DC, or at least the first ${minDigits} characters after ${idPrefix}${acceptsLatest ? ', or latest' : ''}`;
  if (given === 'latest' && acceptsLatest) return latestRun(await context.client(), context.signal, acceptsExternal);
  const [, part] = partPattern.exec(given?.toUpperCase().replace(/^WRUN_/, idPrefix) ?? '') ?? [];
  if (part === undefined)
    throw usageError(`<runId> ${given === undefined ? 'is missing' : `must be ${forms} (value: ${JSON.stringify(given)})`}.`);
  return runBeginningWith(await context.client(), part, context.signal);
}

const notApplicable = (): CliError =>
  new CliError('external_run', `${errors.external_run.message} ${errors.external_run.recovery}`);

async function latestRun(client: Client, signal: AbortSignal, acceptsExternal: boolean): Promise<string> {
  const { data } = await client.listRuns({ limit: 1 }, { signal });
  const [run] = data;
  if (run === undefined) throw usageError('There is no run yet.');
  if (run.isExternal === true && !acceptsExternal) throw notApplicable();
  return run.runId;
}

async function runBeginningWith(client: Client, part: string, signal: AbortSignal): Promise<string> {
  const found: RunSummary[] = [];
  const createdAfter = new Date(timeOf(part, '0')).toISOString();
  // The filter excludes its own time.
  const createdBefore = new Date(timeOf(part, 'Z') + 1).toISOString();
  for await (const run of client.eachRun({ createdAfter, createdBefore, includeChildren: 'true', limit: 100 }, { signal })) {
    if (!run.runId.startsWith(idPrefix + part)) continue;
    found.push(run);
    if (found.length > maxNamed) break;
  }
  const [only, second] = found;
  if (only === undefined) throw usageError(`No run begins with ${idPrefix}${part}.`);
  if (second === undefined) return only.runId;
  const names = found.slice(0, maxNamed).map((run) => `  ${run.runId}  ${run.status}  ${run.workflowName}`);
  throw usageError([`Several runs begin with ${idPrefix}${part}:`, ...names, 'Give more characters.'].join('\n'));
}

/** The time of the ULID that begins with `part` and continues with one digit, in ms since the epoch. */
const timeOf = (part: string, rest: string): number =>
  part
    .slice(0, timeDigits)
    .padEnd(timeDigits, rest)
    .split('')
    .reduce((time, digit) => time * digits.length + digits.indexOf(digit), 0);
