import * as z from 'zod';
import type { RunSummary, StepwellClient } from '../../client/index.ts';
import { type Action, usageError } from '../command.ts';
import { parseArgument, parseOptions, omitUndefined, runId } from '../parse-command-line.ts';
import { bulkOptions, runBulkOperation } from './bulk-operation.ts';
import { type Filters, filterOptions, hasFilter, toRunQuery } from './filters.ts';

const shape = z.object({
  ...bulkOptions,
  ...filterOptions,
  status: z.enum(['pending', 'running']).optional(),
  reason: z.string().min(1).max(1_024).optional(),
});

export const cancelRuns: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const { signal } = context;
  const body = omitUndefined({ reason: options.reason });
  if (commandLine.args.length > 0) {
    const id = parseArgument(commandLine, 0, 'runId', runId);
    if (hasFilter(options)) throw usageError('A run id and filters exclude each other.');
    const client = await context.client();
    const cancelled = await client.cancelRun(id, body, { signal });
    return { data: cancelled, text: `${id} is cancelled.` };
  }
  if (!hasFilter(options)) throw usageError('Name a run, or say which: --status, --workflow, --created-after, --created-before.');
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

/** Without a status, both that an open run can have; in this order, so that none slips through as it begins. */
async function* openRuns(client: StepwellClient, filters: Filters, signal: AbortSignal): AsyncGenerator<RunSummary> {
  const { status } = filters;
  for (const open of status === undefined ? (['pending', 'running'] as const) : [status])
    yield* client.eachRun({ ...toRunQuery({ ...filters, status: open }), limit: 100 }, { signal });
}
