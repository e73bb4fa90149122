import * as z from 'zod';
import type { Action, CommandContext } from '../command.ts';
import type { RunSummary } from '../../client/index.ts';
import { parseOptions, omitUndefined, runId } from '../parse-command-line.ts';
import { listOptions, readRows, moreRowsHint } from '../pages.ts';
import { formatStatus, formatTable } from '../format.ts';
import { filterOptions, toRunQuery } from './filters.ts';
import { formatRunWorkflow } from './format-run-workflow.ts';

const shape = z.object({
  ...listOptions,
  ...filterOptions,
  attention: z.enum(['waiting', 'retrying']).optional(),
  rerunOf: runId.optional(),
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
      run.error === undefined ? '' : `${run.error.code}: ${run.error.message}`,
    ]),
  );

export const listRuns: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const client = await context.client();
  const { attention, rerunOf } = options;
  const found = await readRows(options, (page) =>
    client.listRuns({ ...page, ...toRunQuery(options), ...omitUndefined({ attention, rerunOf }) }, { signal: context.signal }),
  );
  const text =
    found.items.length === 0 ? 'There is no such run.' : [runTable(context, found.items), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};
