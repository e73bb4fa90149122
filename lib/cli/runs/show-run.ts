import * as z from 'zod';
import type { Run } from '../../client/index.ts';
import type { Action, Shell } from '../command.ts';
import { argument, optionsIn, runId } from '../given.ts';
import { span, status, table, when } from '../words.ts';
import { ofWhat } from './of-what.ts';

const shape = z.object({ data: z.boolean().default(true) });

export const showRun: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { data: wantsData } = optionsIn(given, shape);
  const client = await shell.client();
  const run = await client.getRun(id, { resolveData: wantsData ? 'all' : 'none' }, { signal: shell.signal });
  return { data: run, text: told(shell, run) };
};

function told(shell: Shell, run: Run): string {
  const now = shell.now();
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['workflow', ofWhat(run)],
    ['created', when(run.createdAt, now)],
    ['begins', run.availableAt === undefined ? undefined : when(run.availableAt, now)],
    ['ended', run.completedAt === undefined ? undefined : when(run.completedAt, now)],
    ['deadline', run.completedAt === undefined ? when(run.deadlineAt, now) : undefined],
    ['rerun of', run.rerunOf],
    ['reason', run.cancelReason],
    ['error', run.error === undefined ? undefined : `${run.error.code}: ${run.error.message}`],
    ['input', valueOf(run.input, run.inputOmitted)],
    ['output', valueOf(run.output, run.outputOmitted)],
  ];
  const nodes = run.nodes.map((node) => [
    node.iteration === undefined ? node.nodeId : `${node.nodeId}@${node.iteration}`,
    node.type,
    status(shell, node.status),
    node.attempt === 0 ? '' : String(node.attempt),
    node.durationMs === undefined ? '' : span(node.durationMs),
    node.error?.message ?? node.skipReason ?? stateOf(node),
  ]);
  return [
    `${shell.paint('bold', run.runId)}  ${status(shell, run.status)}`,
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(8)}  ${value}`])),
    ...(nodes.length === 0 ? [] : ['', table(shell, ['node', 'type', 'status', 'attempt', 'took', ''], nodes)]),
  ].join('\n');
}

const stateOf = ({ wakeAt, passes }: Run['nodes'][number]): string => {
  const until = wakeAt === undefined ? '' : `until ${wakeAt}`;
  return passes === undefined
    ? until
    : [`${passes.ended} of ${passes.items} items`, until].filter((text) => text !== '').join(', ');
};

const valueOf = (value: unknown, omitted: { readonly bytes: number } | undefined): string | undefined => {
  if (omitted !== undefined) return `${omitted.bytes} bytes, too large to show`;
  return value === undefined ? undefined : JSON.stringify(value);
};
