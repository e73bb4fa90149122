import * as z from 'zod';
import { type Action, usageFault } from '../command.ts';
import { argument, count, deploymentId, idempotencyKey, nodeId, optionsIn, present, runId } from '../given.ts';
import { bulkOptions } from './bulk.ts';
import { filterOptions, hasFilter } from './filters.ts';
import { inputIn, inputOptions } from './input.ts';
import { rerunInBulk } from './rerun-bulk.ts';

const shape = z.object({
  ...bulkOptions,
  ...filterOptions,
  ...inputOptions,
  workflowVersion: count(1, Number.MAX_SAFE_INTEGER).optional(),
  from: nodeId.optional(),
  deployment: deploymentId.optional(),
  idempotencyKey: idempotencyKey.optional(),
  bulkId: z.string().optional(),
});

export const rerunRuns: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const { idempotencyKey: ownKey, bulkId, workflowVersion, from: fromNode, deployment } = options;
  const body = present({ input: inputIn(shell.cwd, options), version: workflowVersion, fromNode, deploymentId: deployment });
  if (given.args.length === 0) {
    if (ownKey !== undefined) throw usageFault('--idempotency-key is for one run; a bulk has --bulk-id.');
    if (!hasFilter(options))
      throw usageFault('Name a run, or say which: --status, --workflow, --created-after, --created-before.');
    return rerunInBulk(shell, options, { filters: options, body, verb: 'rerun' });
  }
  const id = argument(given, 0, 'runId', runId);
  if (hasFilter(options) || bulkId !== undefined) throw usageFault('A run id and filters exclude each other.');
  const client = await shell.client();
  const made = await client.rerunRun(id, body, { signal: shell.signal, ...present({ idempotencyKey: ownKey }) });
  return { data: made, text: made.runId };
};
