import * as z from 'zod';
import type { Run } from '../../client/index.ts';
import type { Action, CommandContext } from '../command.ts';
import { parseArgument, parseOptions, runId } from '../parse-command-line.ts';
import { formatDuration, formatStatus, formatTable, formatTime } from '../format.ts';
import { formatRunWorkflow } from './format-run-workflow.ts';

const shape = z.object({ data: z.boolean().default(true) });

export const showRun: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { data: wantsData } = parseOptions(commandLine, shape);
  const client = await context.client();
  const run = await client.getRun(id, { resolveData: wantsData ? 'all' : 'none' }, { signal: context.signal });
  return { data: run, text: formatRun(context, run) };
};

function formatRun(context: CommandContext, run: Run): string {
  const now = context.now();
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['workflow', formatRunWorkflow(run)],
    ['created', formatTime(run.createdAt, now)],
    ['begins', run.availableAt === undefined ? undefined : formatTime(run.availableAt, now)],
    ['ended', run.completedAt === undefined ? undefined : formatTime(run.completedAt, now)],
    ['deadline', run.completedAt === undefined ? formatTime(run.deadlineAt, now) : undefined],
    ['rerun of', run.rerunOf],
    ['reason', run.cancelReason],
    ['error', run.error === undefined ? undefined : `${run.error.code}: ${run.error.message}`],
    ['input', formatValue(run.input, run.inputOmitted)],
    ['output', formatValue(run.output, run.outputOmitted)],
  ];
  const nodes = run.nodes.map((node) => [
    node.iteration === undefined ? node.nodeId : `${node.nodeId}@${node.iteration}`,
    node.type,
    formatStatus(context, node.status),
    node.attempt === 0 ? '' : String(node.attempt),
    node.durationMs === undefined ? '' : formatDuration(node.durationMs),
    node.error?.message ?? node.skipReason ?? formatNodeState(node),
  ]);
  return [
    `${context.colorize('bold', run.runId)}  ${formatStatus(context, run.status)}`,
    ...fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(8)}  ${value}`])),
    ...(nodes.length === 0 ? [] : ['', formatTable(context, ['node', 'type', 'status', 'attempt', 'took', ''], nodes)]),
  ].join('\n');
}

const formatNodeState = ({ wakeAt, iterations }: Run['nodes'][number]): string => {
  const until = wakeAt === undefined ? '' : `until ${wakeAt}`;
  return iterations === undefined
    ? until
    : [`${iterations.ended} of ${iterations.items} items`, until].filter((text) => text !== '').join(', ');
};

const formatValue = (value: unknown, omitted: { readonly bytes: number } | undefined): string | undefined => {
  if (omitted !== undefined) return `${omitted.bytes} bytes, too large to show`;
  return value === undefined ? undefined : JSON.stringify(value);
};
