/** `stepwell runs cancel`, `stepwell runs rerun` and `stepwell redrive`: for one run, or for all runs that match the filters. */
import * as z from 'zod';
import { type BulkOperation, bulkOptions, runBulkOperation } from './bulk-operation.ts';
import { filterOptions, type Filters, hasFilter, toRunQuery } from './runs.ts';
import { type Action, type CommandContext, type Outcome, usageError } from '../command.ts';
import {
  deploymentId,
  idempotencyKey,
  inputOptions,
  integerBetween,
  json,
  omitUndefined,
  parseOptions,
  readInput,
  timestamp,
  workflowName,
} from '../parse-command-line.ts';
import { readRunReference } from '../run-reference.ts';
import { ComputeClientError, type Run, type RunSummary, type StepwellClient } from '../../client/index.ts';
import type { JsonValue } from '../../engine/json.ts';

const children = z.boolean().default(false);

const cancelRunsOptions = z.object({
  ...bulkOptions,
  ...filterOptions,
  children,
  status: z.enum(['pending', 'running']).optional(),
  reason: z.string().min(1).max(1_024).optional(),
});

export const cancelRuns: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, cancelRunsOptions);
  const { signal } = context;
  const body = omitUndefined({ reason: options.reason });
  if (commandLine.args.length > 0) {
    if (hasFilter(options)) throw usageError('A run id and filters exclude each other.');
    const id = await readRunReference(commandLine, context);
    const client = await context.client();
    const cancelled = await client.cancelRun(id, body, { signal });
    return { data: cancelled, text: `${id} is cancelled.` };
  }
  if (!hasFilter(options))
    throw usageError('Give a run id or a filter: --status, --workflow, --created-after or --created-before.');
  const client = await context.client();
  return runBulkOperation(context, options, {
    verb: 'cancel',
    runs: openRuns(client, options, signal),
    apply: async (run) => {
      await client.cancelRun(run.runId, body, { signal });
      return { outcome: 'done', detail: '' };
    },
  });
};

/** Lists pending runs before running ones, so that a run that starts during the listing is not missed. */
async function* openRuns(
  client: StepwellClient,
  filters: Filters & { readonly children: boolean },
  signal: AbortSignal,
): AsyncGenerator<RunSummary> {
  const { status } = filters;
  for (const open of status === undefined ? (['pending', 'running'] as const) : [status])
    yield* client.eachRun({ ...toRunQuery({ ...filters, status: open }), ...childrenQuery(filters), limit: 100 }, { signal });
}

/** A called run belongs to its caller: what applies to the caller applies to it too. */
const childrenQuery = (options: { readonly children: boolean }): { readonly includeChildren?: 'true' } =>
  options.children ? { includeChildren: 'true' } : {};

const rerunRunsOptions = z.object({
  ...bulkOptions,
  ...filterOptions,
  children,
  ...inputOptions,
  workflowVersion: integerBetween(1, Number.MAX_SAFE_INTEGER).optional(),
  from: z.string().min(1).optional(),
  result: z.array(z.string()).optional(),
  replace: z.array(z.string()).optional(),
  deployment: deploymentId.optional(),
  idempotencyKey: idempotencyKey.optional(),
  bulkId: z.string().optional(),
});

export const rerunRuns: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, rerunRunsOptions);
  const { idempotencyKey: requestedKey, bulkId, workflowVersion, from: fromNode, result, replace, deployment } = options;
  if (result !== undefined && fromNode === undefined)
    throw usageError('--result replaces results that --from <step> keeps: give both.');
  if (replace !== undefined && fromNode === undefined)
    throw usageError('--replace replaces outputs of nodes that --from <node> keeps: give both.');
  const body = omitUndefined({
    input: readInput(context.cwd, options),
    version: workflowVersion,
    fromNode,
    results: result === undefined ? undefined : readValues('--result', 'step', result),
    replace: replace === undefined ? undefined : outputsOf(readValues('--replace', 'node', replace)),
    deploymentId: deployment,
  });
  if (commandLine.args.length === 0) {
    if (requestedKey !== undefined) throw usageError('--idempotency-key is for one run; use --bulk-id for a bulk operation.');
    if (!hasFilter(options))
      throw usageError('Give a run id or a filter: --status, --workflow, --created-after or --created-before.');
    return rerunInBulk(context, options, { filters: options, includesChildren: options.children, body, verb: 'rerun' });
  }
  if (hasFilter(options) || bulkId !== undefined) throw usageError('A run id and filters exclude each other.');
  const id = await readRunReference(commandLine, context);
  const client = await context.client();
  const newRun = await client.rerunRun(id, body, { signal: context.signal, ...omitUndefined({ idempotencyKey: requestedKey }) });
  return { data: newRun, text: newRun.runId };
};

const outputsOf = (values: Readonly<Record<string, JsonValue>>): Readonly<Record<string, { readonly output: JsonValue }>> =>
  Object.fromEntries(Object.entries(values).map(([id, output]) => [id, { output }]));

/** `step=json` each. A value that is not JSON is an error, so that a typing mistake does not become a text. */
function readValues(
  option: '--result' | '--replace',
  what: 'step' | 'node',
  texts: readonly string[],
): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    texts.map((text): [string, JsonValue] => {
      const equals = text.indexOf('=');
      const value = json.safeParse(text.slice(equals + 1));
      if (equals < 1 || !value.success)
        throw usageError(`${option} must be <${what}>=<json>, such as 'charge={"id":"ch_1"}', and is ${JSON.stringify(text)}.`);
      return [text.slice(0, equals), value.data];
    }),
  );
}

/** The error code of a node whose message reached a dead-letter queue. */
const lostMessageCode = 'recovery_error';

const redriveOptions = z.object({
  ...bulkOptions,
  workflow: workflowName.optional(),
  createdAfter: timestamp.optional(),
  createdBefore: timestamp.optional(),
  bulkId: z.string().optional(),
});

export const redrive: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, redriveOptions);
  const { workflow, createdAfter, createdBefore } = options;
  return rerunInBulk(context, options, {
    // The lost message can be one of a called run, of another workflow than its caller's.
    filters: { status: 'failed', createdAfter, createdBefore },
    includesChildren: true,
    body: {},
    select: (runs) => runsThatLostMessages(context, runs, workflow),
    verb: 'rerun',
  });
};

/** The error code names the lost message in the called run alone. A rerun of that run would have no caller, so its outermost caller is rerun. */
async function* runsThatLostMessages(
  context: CommandContext,
  runs: AsyncIterable<RunSummary>,
  workflow: string | undefined,
): AsyncGenerator<RunSummary> {
  const client = await context.client();
  for await (const run of runs) {
    if (run.error?.code !== lostMessageCode) continue;
    const outermost = await outermostFailedCaller(client, run, context.signal);
    if (outermost === undefined) continue;
    if (workflow === undefined || [run, outermost].some(({ workflowName: name }) => name === workflow)) yield outermost;
  }
}

/**
 * The run itself if nothing called it, or if its caller ended earlier: that caller abandoned it.
 * @returns undefined if a caller is open or completed: it handles the failure, and a rerun would do its work twice
 */
async function outermostFailedCaller(
  client: StepwellClient,
  run: RunSummary,
  signal: AbortSignal,
): Promise<RunSummary | undefined> {
  if (run.calledBy === undefined) return run;
  const caller = await readCaller(client, run.calledBy.runId, signal);
  if (caller === undefined) return run;
  const hasAbandoned = (caller.completedAt ?? '9') < (run.completedAt ?? '');
  if (hasAbandoned) return run;
  return caller.status === 'failed' ? outermostFailedCaller(client, caller, signal) : undefined;
}

/** @returns undefined if it is deleted */
async function readCaller(client: StepwellClient, id: string, signal: AbortSignal): Promise<Run | undefined> {
  try {
    return await client.getRun(id, { resolveData: 'none' }, { signal });
  } catch (error) {
    if (error instanceof ComputeClientError && error.status === 404) return undefined;
    throw error;
  }
}

const rerunInBulkOptions = z.object({ ...bulkOptions, bulkId: z.string().optional() });

export interface RerunRequest {
  readonly filters: Filters;
  readonly body: {
    readonly input?: JsonValue;
    readonly version?: number;
    readonly fromNode?: string;
    readonly results?: Readonly<Record<string, JsonValue>>;
    readonly replace?: Readonly<Record<string, { readonly output: JsonValue }>>;
    readonly deploymentId?: string;
  };
  readonly includesChildren: boolean;
  /** the runs to rerun, from those that match the filters; default: all of them */
  readonly select?: (runs: AsyncIterable<RunSummary>) => AsyncIterable<RunSummary>;
  readonly verb: BulkOperation['verb'];
}

export async function rerunInBulk(
  context: CommandContext,
  options: z.output<typeof rerunInBulkOptions>,
  { filters, includesChildren, body, select = (runs) => runs, verb }: RerunRequest,
): Promise<Outcome> {
  const { signal } = context;
  const client = await context.client();
  const { timestamp } = await client.health({ signal });
  const bulkId = options.bulkId ?? newBulkId(Date.parse(timestamp), context.newId());
  const startedAt = new Date(bulkStartTime(bulkId, Date.parse(timestamp))).toISOString();
  const { createdBefore = startedAt } = filters;
  const effectiveCreatedBefore = Date.parse(createdBefore) < Date.parse(startedAt) ? createdBefore : startedAt;
  const query = toRunQuery({ ...filters, createdBefore: effectiveCreatedBefore });
  context.log(`If this is interrupted, continue with --bulk-id ${bulkId} and the same filters.`);
  return runBulkOperation(context, options, {
    verb,
    extraData: { bulkId },
    runs: select(client.eachRun({ ...query, ...childrenQuery({ children: includesChildren }), limit: 100 }, { signal })),
    apply: async ({ runId }) => {
      const newRun = await client.rerunRun(runId, body, { idempotencyKey: rerunIdempotencyKey(bulkId, runId), signal });
      return { outcome: 'done', detail: newRun.runId };
    },
  });
}

/** The API stores idempotency keys for one day. */
const idempotencyRetentionMs = 86_400_000;

const bulkIdPattern = /^bulk_([0-9a-z]{8,9})_[0-9a-z]{12}$/;

/**
 * Id of one bulk rerun. It contains the start time by the service's clock: a repeated bulk selects the same runs and excludes
 * the reruns that it created. The idempotency key of each rerun is derived from it.
 * @param newId a UUID
 */
export const newBulkId = (startedAt: number, newId: string): string =>
  `bulk_${startedAt.toString(36)}_${newId.replaceAll('-', '').slice(0, 12)}`;

/** @throws CliError for an invalid id, and for one whose idempotency keys have expired */
export function bulkStartTime(bulkId: string, now: number): number {
  const startedAt = Number.parseInt(bulkIdPattern.exec(bulkId)?.[1] ?? '', 36);
  if (Number.isNaN(startedAt)) throw usageError(`--bulk-id must be an id that a bulk operation printed (value: '${bulkId}').`);
  if (now - startedAt >= idempotencyRetentionMs)
    throw usageError(`${bulkId} is more than one day old: its idempotency keys have expired, so runs could be started twice.`);
  return startedAt;
}

export const rerunIdempotencyKey = (bulkId: string, runId: string): string => `${bulkId}:${runId}`;
