/** `stepwell runs node`: what one node of a run saw and did. */
import * as z from 'zod';
import type { ResponseBody } from '../../client/route-types.ts';
import type { Action, CommandContext } from '../command.ts';
import { formatDuration, formatStatus, formatTable } from '../format.ts';
import { integerBetween, nodeId, omitUndefined, parseArgument, parseOptions } from '../parse-command-line.ts';
import { readRunReference } from '../run-reference.ts';
import { nodeName } from './format-run.ts';

type RunNodeDetail = ResponseBody<'getRunNode'>;

const showRunNodeOptions = z.object({
  iteration: z.string().min(1).optional(),
  attempt: integerBetween(1, Number.MAX_SAFE_INTEGER).optional(),
});

export const showRunNode: Action = async (commandLine, context) => {
  const { iteration, attempt } = parseOptions(commandLine, showRunNodeOptions);
  const runId = await readRunReference(commandLine, context, { acceptsLatest: true });
  const id = parseArgument(commandLine, 1, 'node id', nodeId);
  const client = await context.client();
  const shown = await client.getRunNode(runId, id, omitUndefined({ iteration, attempt }), { signal: context.signal });
  return { data: shown, text: formatRunNode(context, shown) };
};

function formatRunNode(context: CommandContext, detail: RunNodeDetail): string {
  const { node, attempts } = detail;
  const values: readonly (readonly [string, unknown, { readonly bytes: number } | undefined])[] = [
    ['config', detail.config, detail.configOmitted],
    ['inputs', detail.inputs, detail.inputsOmitted],
    ['ctx', detail.context, detail.contextOmitted],
    ['output', node.output, node.outputOmitted],
  ];
  const rows = attempts.map((each) => [
    String(each.attempt),
    formatStatus(context, each.status),
    each.startedAt === undefined || each.endedAt === undefined
      ? ''
      : formatDuration(Date.parse(each.endedAt) - Date.parse(each.startedAt)),
    each.error === undefined ? '' : `${each.error.code}: ${each.error.message}`,
  ]);
  return [
    `${context.colorize('bold', nodeName(node))}  ${node.type}  ${formatStatus(context, node.status)}`,
    ...values.flatMap(([name, value, omitted]) => {
      const text = omitted === undefined ? JSON.stringify(value, undefined, 2) : `${omitted.bytes} bytes, too large to show`;
      return text === undefined ? [] : [`${name.padEnd(9)} ${text.replaceAll('\n', `\n${' '.repeat(10)}`)}`];
    }),
    ...(rows.length === 0 ? [] : ['', formatTable(context, ['attempt', 'status', 'took', ''], rows)]),
    ...attempts.flatMap(({ attempt, printed = [] }) => printed.map((line) => `attempt ${attempt} | ${line}`)),
  ].join('\n');
}
