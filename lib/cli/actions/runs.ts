/** `stepwell runs …` for one run, and its lists: start, list, get, events, tags, watch, result, resume, wake, view and stop. */
import * as z from 'zod';
import { formatDelta, formatFailedItems, formatEndedRun, formatEvent, formatRunWorkflow, nodeName } from './format-run.ts';
import { maxWaitSeconds } from '../../api/schemas/runs.ts';
import {
  type Action,
  CliError,
  type CommandContext,
  type Outcome,
  type Tone,
  payloadsHiddenError,
  usageError,
} from '../command.ts';
import { formatDuration, formatStatus, formatTable, formatTime } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import {
  deploymentId,
  file,
  idempotencyKey,
  inputOptions,
  integerBetween,
  json,
  nodeId,
  omitUndefined,
  parseArgument,
  parseOptions,
  readInput,
  readJson,
  runId,
  timestamp,
  anyWorkflowName,
} from '../parse-command-line.ts';
import { StepNames, encryptedText, isDevKitRun, plainValue } from '../devkit-names.ts';
import { type RootCause, findRootCause, formatRootCause } from './root-cause.ts';
import { formatLastFailures, readRetries } from './explain.ts';
import { readRunReference } from '../run-reference.ts';
import {
  type AnsweredRun,
  type EndedRun,
  isAnswered,
  isDelta,
  type Run,
  type RunEvent,
  type RunSummary,
  type StepwellClient,
  TransportComputeClientError,
} from '../../client/index.ts';
import { runStatuses } from '../../engine/log/head.ts';

const startRunOptions = z.object({
  ...inputOptions,
  idempotencyKey: idempotencyKey.optional(),
  contentKey: z.boolean().default(false),
  runId: runId.optional(),
  deployment: deploymentId.optional(),
  workflowVersion: integerBetween(1, Number.MAX_SAFE_INTEGER).optional(),
  availableAt: timestamp.optional(),
  deadlineAt: timestamp.optional(),
  wait: z.union([z.literal(true).transform(() => maxWaitSeconds), integerBetween(1, maxWaitSeconds)]).optional(),
});

export const startRun: Action = async (commandLine, context) => {
  const name = parseArgument(commandLine, 0, 'workflow', anyWorkflowName);
  const options = parseOptions(commandLine, startRunOptions);
  const { idempotencyKey: requestedKey, contentKey, runId: id, availableAt, deadlineAt, deployment, workflowVersion } = options;
  if (contentKey && requestedKey !== undefined) throw usageError('--content-key and --idempotency-key exclude each other.');
  const input = readInput(context.cwd, options);
  const client = await context.client();
  const key = contentKey ? client.contentKey(name, input ?? {}) : requestedKey;
  const body = {
    workflowName: name,
    ...omitUndefined({ input, runId: id, deploymentId: deployment, version: workflowVersion, availableAt, deadlineAt }),
  };
  const callOptions = { signal: context.signal, ...omitUndefined({ idempotencyKey: key }) };
  const { wait } = options;
  const started = await (wait === undefined ? client.trigger(body, callOptions) : client.triggerAndWait(body, wait, callOptions));
  if (isAnswered(started)) return formatAnswer(context, started);
  context.log(`${wait === undefined ? 'Started' : 'Not ended yet'}. Watch it: stepwell runs watch ${started.runId}`);
  return { data: started, text: started.runId };
};

/** stdout contains only the output, as of `runs result`. */
function formatAnswer(context: CommandContext, run: AnsweredRun): Outcome {
  const { exitCode, summary } = formatEndedRun(context, run);
  if (run.status === 'completed' && run.payloadsHidden !== undefined && !context.isJson)
    throw payloadsHiddenError(`the output of ${run.runId}`);
  if (run.status === 'completed') return { data: run, text: formatOutput(run), exitCode };
  if (!context.isJson) context.log(summary);
  return { data: run, text: '', exitCode };
}

export const filterOptions = {
  status: z.enum(runStatuses).optional(),
  workflow: anyWorkflowName.optional(),
  createdAfter: timestamp.optional(),
  createdBefore: timestamp.optional(),
};
const filterSchema = z.object(filterOptions);
export type Filters = z.output<typeof filterSchema>;

export const toRunQuery = ({ status, workflow, createdAfter, createdBefore }: Filters) =>
  omitUndefined({ status, workflowName: workflow, createdAfter, createdBefore });

export const hasFilter = (filters: Filters): boolean => Object.keys(toRunQuery(filters)).length > 0;

const listRunsOptions = z.object({
  ...listOptions,
  ...filterOptions,
  attention: z.enum(['waiting', 'retrying']).optional(),
  rerunOf: runId.optional(),
  deployment: deploymentId.optional(),
  schedule: z.string().min(1).optional(),
  correlation: z.string().min(1).optional(),
  calledBy: z.string().min(1).optional(),
  workflowVersion: z.string().min(1).optional(),
  children: z.boolean().default(false),
  waits: z.boolean().default(false),
});

export const runTable = (context: CommandContext, runs: readonly RunSummary[]): string =>
  formatTable(
    context,
    ['run', 'status', 'workflow', 'created', 'ended', 'why'],
    runs.map((run) => [
      run.runId,
      formatStatus(context, run.status) + (run.attention === undefined ? '' : ` (${run.attention})`),
      formatRunWorkflow(run),
      run.createdAt,
      run.completedAt ?? '',
      run.error === undefined ? formatWaits(run) : `${run.error.code}: ${run.error.message}`,
    ]),
  );

/** With `--waits`: the first signal for which the run waits, and the number of the others. */
const formatWaits = ({ waits: [first, ...others] = [], waitsOmitted = 0 }: RunSummary): string => {
  if (first === undefined) return '';
  const more = others.length + waitsOmitted;
  return `waits for ${first.signal}/${first.correlation}${more === 0 ? '' : ` and ${more} more`}`;
};

export const listRuns: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, listRunsOptions);
  const client = await context.client();
  const { attention, rerunOf, deployment, schedule, correlation, calledBy, workflowVersion } = options;
  const origin = {
    deploymentId: deployment,
    scheduleId: schedule,
    correlationId: correlation,
    calledBy,
    version: workflowVersion,
  };
  const more = omitUndefined({
    attention,
    rerunOf,
    ...origin,
    includeChildren: options.children ? ('true' as const) : undefined,
    includeWaits: options.waits ? ('true' as const) : undefined,
  });
  const found = await readRows(options, (page) =>
    client.listRuns({ ...page, ...toRunQuery(options), ...more }, { signal: context.signal }),
  );
  const text = found.items.length === 0 ? 'No run matches.' : [runTable(context, found.items), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};

const showRunOptions = z.object({ data: z.boolean().default(true), estimate: z.boolean().default(false) });

export const showRun: Action = async (commandLine, context) => {
  const { data: wantsData, estimate } = parseOptions(commandLine, showRunOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true, acceptsExternal: true });
  const client = await context.client();
  const query = { resolveData: wantsData ? 'all' : 'none', estimate: estimate ? 'true' : 'false' } as const;
  const run = await client.getRun(id, query, { signal: context.signal });
  const rootCause = await findRootCause(client, run, { signal: context.signal });
  const retries = formatLastFailures(await readRetries(client, run, context.now(), { signal: context.signal }));
  return { data: run, text: [formatRun(context, run, rootCause), ...(retries.length === 0 ? [] : ['', ...retries])].join('\n') };
};

function formatRun(context: CommandContext, run: Run, rootCause: RootCause | undefined): string {
  const now = context.now();
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['workflow', formatRunWorkflow(run)],
    ['created', formatTime(run.createdAt, now)],
    ['starts', run.availableAt === undefined ? undefined : formatTime(run.availableAt, now)],
    ['ended', run.completedAt === undefined ? undefined : formatTime(run.completedAt, now)],
    ['deadline', run.completedAt === undefined ? formatTime(run.deadlineAt, now) : undefined],
    ['rerun of', run.rerunOf],
    ['called by', run.calledBy === undefined ? undefined : `node ${run.calledBy.nodeId} of ${run.calledBy.runId}`],
    ['started by', run.startedBy === undefined ? undefined : formatTrigger(run.startedBy)],
    ['reason', run.cancelReason],
    ['error', run.error === undefined ? undefined : `${run.error.code}: ${run.error.message}`],
    ['cause', rootCause === undefined ? undefined : formatRootCause(rootCause)],
    ['input', formatValue(run.input, run.inputOmitted)],
    ['output', formatValue(run.output, run.outputOmitted)],
    ['log', run.bytes === undefined ? undefined : `${run.commits} commits, ${run.bytes} bytes`],
    ['cost', run.estimate === undefined ? undefined : formatCost(run.estimate)],
  ];
  const nodes = run.nodes.map((node) => [
    nodeName(node),
    node.type,
    formatStatus(context, node.status),
    node.attempt === 0 ? '' : String(node.attempt),
    node.durationMs === undefined ? '' : formatDuration(node.durationMs),
    [node.error?.message ?? node.skipReason, formatNodeState(run, node)]
      .filter((text) => text !== undefined && text !== '')
      .join('; '),
  ]);
  return [
    `${context.colorize('bold', run.runId)}  ${formatStatus(context, run.status)}`,
    ...fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(9)} ${value}`])),
    ...(nodes.length === 0 ? [] : ['', formatTable(context, ['node', 'type', 'status', 'attempt', 'took', ''], nodes)]),
  ].join('\n');
}

const formatTrigger = ({ trigger, messageId }: NonNullable<Run['startedBy']>): string =>
  `trigger ${trigger}${messageId === undefined ? '' : `, message ${messageId}`}`;

/** The dollars of one run are millionths. */
const formatCost = ({ dollars, parts }: NonNullable<Run['estimate']>): string =>
  `about $${dollars.toFixed(6)}: ${parts.map(({ kind, count }) => `${count} ${kind}`).join(', ')}`;

/** Characters of a node's output in the table. */
const maxShownOutput = 80;

/** The log of a DevKit run names no outputs of its nodes. */
const formatNodeState = (run: Run, { wakeAt, iterations, childRunId, output, outputOmitted }: Run['nodes'][number]): string =>
  [
    ...(iterations === undefined ? [] : [`${iterations.ended} of ${iterations.items} items`, ...formatFailedItems(iterations)]),
    ...(wakeAt === undefined ? [] : [`until ${wakeAt}`]),
    ...(childRunId === undefined ? [] : [`called ${childRunId}`]),
    ...[formatValue(isDevKitRun(run) ? undefined : output, outputOmitted)].flatMap((text) =>
      text === undefined ? [] : [truncate(text, maxShownOutput)],
    ),
  ].join(', ');

const truncate = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length)}…`);

const formatValue = (value: unknown, omitted: { readonly bytes: number } | undefined): string | undefined => {
  if (omitted !== undefined) return `${omitted.bytes} bytes, too large to show`;
  return value === undefined ? undefined : (encryptedText(value) ?? JSON.stringify(plainValue(value)));
};

/** Maximum page size of the API's event list. */
const pageEvents = 1_000;

export const eventIdOption = integerBetween(0, Number.MAX_SAFE_INTEGER).optional();
const listEventsOptions = z.object({ after: eventIdOption, limit: integerBetween(1, 100_000).default(200) });

export const listEvents: Action = async (commandLine, context) => {
  const { after, limit } = parseOptions(commandLine, listEventsOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true, acceptsExternal: true });
  const client = await context.client();
  const items: RunEvent[] = [];
  let hasMore = true;
  for (let from = after === undefined ? {} : { after: String(after) }; hasMore && items.length < limit;) {
    const query = { ...from, limit: Math.min(pageEvents, limit - items.length) };
    const page = await client.listRunEvents(id, query, { signal: context.signal });
    items.push(...page.data);
    hasMore = page.hasMore;
    from = { after: page.cursor };
  }
  const names = await stepNamesOf(context, id, after);
  const lines = items.map((event) => formatEvent(context, event, names.nameOf(event)));
  const more = hasMore ? [`More events exist: use --after ${items.at(-1)?.eventId ?? 0}.`] : [];
  return { data: { items, hasMore }, text: lines.length === 0 ? 'No events.' : [...lines, ...more].join('\n') };
};

/** The names of steps that began before the first event that is shown are read from the run. */
async function stepNamesOf(
  context: Pick<CommandContext, 'client' | 'signal'>,
  id: string,
  after: number | undefined,
): Promise<StepNames> {
  const names = new StepNames();
  if (after === undefined) return names;
  const client = await context.client();
  names.learnFrom(await client.getRun(id, {}, { signal: context.signal }));
  return names;
}

/** Maximum page size of the API's tag list. */
const pageTags = 1_000;
const listTagsOptions = z.object({ after: eventIdOption, limit: integerBetween(1, 100_000).default(200) });

type Tag = Awaited<ReturnType<StepwellClient['listRunTags']>>['data'][number];
const tones: Readonly<Record<string, Tone>> = { critical: 'bad', warn: 'warn', info: 'dim' };

export const listTags: Action = async (commandLine, context) => {
  const { after, limit } = parseOptions(commandLine, listTagsOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true });
  const client = await context.client();
  const items: Tag[] = [];
  let hasMore = true;
  let cursor = after === undefined ? undefined : String(after);
  while (hasMore && items.length < limit) {
    const query = { limit: Math.min(pageTags, limit - items.length), ...(cursor !== undefined && { after: cursor }) };
    const page = await client.listRunTags(id, query, { signal: context.signal });
    items.push(...page.data);
    ({ hasMore, cursor } = page);
  }
  const rows = items.map(({ tag, severity, nodeId, iteration, eventId, timestamp, metadata }) => [
    String(eventId),
    timestamp,
    context.colorize(tones[severity] ?? 'dim', severity),
    tag,
    nodeId === undefined ? '' : `${nodeId}${iteration === undefined ? '' : `@${iteration}`}`,
    Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata),
  ]);
  const lines = rows.length === 0 ? 'No tags.' : formatTable(context, ['event', 'at', 'severity', 'tag', 'node', ''], rows);
  return { data: { items, hasMore }, text: hasMore ? `${lines}\nMore tags exist: use --after ${cursor}.` : lines };
};

const watchRunOptions = z.object({ after: eventIdOption });

export const watchRun: Action = async (commandLine, context) => {
  const { after } = parseOptions(commandLine, watchRunOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true, acceptsExternal: true });
  const client = await context.client();
  const { signal } = context;
  const names = await stepNamesOf(context, id, after);
  for await (const update of client.watchRun(id, omitUndefined({ after }), { signal })) {
    const isDeltaUpdate = isDelta(update);
    context.printJsonLine(isDeltaUpdate ? { delta: update } : { event: update });
    context.print(isDeltaUpdate ? formatDelta(context, update) : formatEvent(context, update, names.nameOf(update)));
  }
  const run = await client.result(id, { signal });
  const { exitCode, summary } = formatEndedRun(context, run);
  return { data: { run }, text: [summary, ...(await explainEnd(context, client, run))].join('\n'), exitCode };
};

const resultOptions = z.object({ timeout: integerBetween(1, 2_000_000).optional() });

export const result: Action = async (commandLine, context) => {
  const { timeout } = parseOptions(commandLine, resultOptions);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true, acceptsExternal: true });
  const client = await context.client();
  const run = await awaitEnd(client, id, timeout, context.signal);
  const { exitCode, summary } = formatEndedRun(context, run);
  // stdout contains only the output, so that it can be piped.
  if (run.status === 'completed' && run.payloadsHidden !== undefined && !context.isJson)
    throw payloadsHiddenError(`the output of ${id}`);
  if (run.status === 'completed') return { data: run, text: formatOutput(run), exitCode };
  if (!context.isJson) [summary, ...(await explainEnd(context, client, run))].forEach(context.log);
  return { data: run, text: '', exitCode };
};

/** The root cause of a failed run, and the command that explains it. */
async function explainEnd(
  { isJson, signal }: Pick<CommandContext, 'isJson' | 'signal'>,
  client: StepwellClient,
  run: EndedRun,
): Promise<readonly string[]> {
  if (isJson || run.status !== 'failed') return [];
  const cause = await findRootCause(client, run, { signal });
  return [...(cause === undefined ? [] : [`Root cause: ${formatRootCause(cause)}`]), `More: stepwell explain ${run.runId}`];
}

async function awaitEnd(
  client: StepwellClient,
  id: string,
  timeout: number | undefined,
  signal: CommandContext['signal'],
): Promise<EndedRun> {
  try {
    return await client.result(id, timeout === undefined ? { signal } : { signal, timeoutMs: timeout * 1_000 });
  } catch (error) {
    // The client's own timeout message begins with the run id; that of a request begins with the operation.
    const hasTimedOut = error instanceof TransportComputeClientError && error.kind === 'timeout' && error.message.startsWith(id);
    if (hasTimedOut) throw new CliError('not_ended', `${id} did not end within ${timeout} s. The run continues.`);
    throw error;
  }
}

const formatOutput = ({ output, outputOmitted }: Pick<EndedRun | AnsweredRun, 'output' | 'outputOmitted'>): string =>
  outputOmitted === undefined
    ? (encryptedText(output) ?? JSON.stringify(plainValue(output ?? null), null, 2))
    : `${outputOmitted.bytes} bytes, too large to show`;

const resumeOptions = z.object({ reason: z.string().min(1).max(1_024).optional(), payload: json.optional() });
const wakeOptions = z.object({ node: z.array(nodeId).min(1).max(1_000).optional(), retries: z.literal(true).optional() });

export const resume: Action = async (commandLine, context) => {
  const { reason, payload } = parseOptions(commandLine, resumeOptions);
  const id = await readRunReference(commandLine, context);
  const client = await context.client();
  const resumed = await client.resumeRun({ runId: id, ...omitUndefined({ reason, payload }) }, { signal: context.signal });
  return { data: resumed, text: `${id} is resumed.` };
};

export const wake: Action = async (commandLine, context) => {
  const { node, retries } = parseOptions(commandLine, wakeOptions);
  const id = await readRunReference(commandLine, context);
  const client = await context.client();
  const woken = await client.wakeRun(id, omitUndefined({ nodeIds: node, retries }), { signal: context.signal });
  const [none, some] =
    retries === true ? ['No node was waiting for its next attempt.', 'Retried now'] : ['No node was sleeping.', 'Woken'];
  return { data: woken, text: woken.woken.length === 0 ? none : `${some}: ${woken.woken.join(', ')}.` };
};

const viewRunOptions = z.object({ config: json.optional(), configFile: file.optional() });

/** Prints the resolved view alone on stdout, so that it can be piped. */
export const viewRun: Action = async (commandLine, context) => {
  const { config: inlineConfig, configFile } = parseOptions(commandLine, viewRunOptions);
  if ((inlineConfig === undefined) === (configFile === undefined)) throw usageError('Give one of --config and --config-file.');
  const config = configFile === undefined ? inlineConfig : readJson(context.cwd, configFile);
  const id = await readRunReference(commandLine, context, { acceptsLatest: true });
  const client = await context.client();
  const viewed = await client.viewRun(id, { config: config ?? null }, { signal: context.signal });
  context.log(`${id} is ${viewed.status}, as of event ${viewed.lastEventId}`);
  return { data: viewed, text: JSON.stringify(viewed.view, null, 2) };
};

/** Stops a test run. The API refuses other runs. */
export const stopRun: Action = async (commandLine, context) => {
  const id = await readRunReference(commandLine, context);
  const client = await context.client();
  const stopped = await client.stopTestRun(id, { signal: context.signal });
  return { data: stopped, text: `${id} and all of its data are deleted.` };
};
