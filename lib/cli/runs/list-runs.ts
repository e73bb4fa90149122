import * as z from 'zod';
import type { Action, Shell } from '../command.ts';
import type { RunSummary } from '../../client/index.ts';
import { optionsIn, present, runId } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { status, table } from '../words.ts';
import { filterOptions, queryOf } from './filters.ts';
import { ofWhat } from './of-what.ts';

const shape = z.object({
  ...listOptions,
  ...filterOptions,
  attention: z.enum(['waiting', 'retrying']).optional(),
  rerunOf: runId.optional(),
});

export const runTable = (shell: Shell, runs: readonly RunSummary[]): string =>
  table(
    shell,
    ['run', 'status', 'workflow', 'created', 'ended', 'why'],
    runs.map((run) => [
      run.runId,
      status(shell, run.status) + (run.attention === undefined ? '' : ` (${run.attention})`),
      ofWhat(run),
      run.createdAt,
      run.completedAt ?? '',
      run.error === undefined ? '' : `${run.error.code}: ${run.error.message}`,
    ]),
  );

export const listRuns: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const client = await shell.client();
  const { attention, rerunOf } = options;
  const found = await listed(options, (page) =>
    client.listRuns({ ...page, ...queryOf(options), ...present({ attention, rerunOf }) }, { signal: shell.signal }),
  );
  const text = found.items.length === 0 ? 'There is no such run.' : [runTable(shell, found.items), ...moreLine(found)].join('\n');
  return { data: found, text };
};
