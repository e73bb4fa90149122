import * as z from 'zod';
import type { RunSummary, StepwellClient } from '../../client/index.ts';
import { type Action, usageFault } from '../command.ts';
import { argument, optionsIn, present, runId } from '../given.ts';
import { bulkOptions, inBulk } from './bulk.ts';
import { type Filters, filterOptions, hasFilter, queryOf } from './filters.ts';

const shape = z.object({
  ...bulkOptions,
  ...filterOptions,
  status: z.enum(['pending', 'running']).optional(),
  reason: z.string().min(1).max(1_024).optional(),
});

export const cancelRuns: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const { signal } = shell;
  const body = present({ reason: options.reason });
  if (given.args.length > 0) {
    const id = argument(given, 0, 'runId', runId);
    if (hasFilter(options)) throw usageFault('A run id and filters exclude each other.');
    const client = await shell.client();
    const cancelled = await client.cancelRun(id, body, { signal });
    return { data: cancelled, text: `${id} is cancelled.` };
  }
  if (!hasFilter(options)) throw usageFault('Name a run, or say which: --status, --workflow, --created-after, --created-before.');
  const client = await shell.client();
  return inBulk(shell, options, {
    verb: 'cancel',
    runs: openRuns(client, options, signal),
    each: async (run) => {
      await client.cancelRun(run.runId, body, { signal });
      return { outcome: 'done', detail: '' };
    },
  });
};

/** Without a status, both that an open run can have; in this order, so that none slips through as it begins. */
async function* openRuns(client: StepwellClient, filters: Filters, signal: AbortSignal): AsyncGenerator<RunSummary> {
  const { status } = filters;
  for (const open of status === undefined ? (['pending', 'running'] as const) : [status])
    yield* client.eachRun({ ...queryOf({ ...filters, status: open }), limit: 100 }, { signal });
}
