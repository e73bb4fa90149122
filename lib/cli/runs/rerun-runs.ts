import * as z from 'zod';
import { type Action, usageError } from '../command.ts';
import {
  parseArgument,
  integerBetween,
  deploymentId,
  idempotencyKey,
  nodeId,
  parseOptions,
  omitUndefined,
  runId,
} from '../parse-command-line.ts';
import { bulkOptions } from './bulk-operation.ts';
import { filterOptions, hasFilter } from './filters.ts';
import { readInput, inputOptions } from './input.ts';
import { rerunInBulk } from './rerun-bulk.ts';

const shape = z.object({
  ...bulkOptions,
  ...filterOptions,
  ...inputOptions,
  workflowVersion: integerBetween(1, Number.MAX_SAFE_INTEGER).optional(),
  from: nodeId.optional(),
  deployment: deploymentId.optional(),
  idempotencyKey: idempotencyKey.optional(),
  bulkId: z.string().optional(),
});

export const rerunRuns: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const { idempotencyKey: requestedKey, bulkId, workflowVersion, from: fromNode, deployment } = options;
  const body = omitUndefined({
    input: readInput(context.cwd, options),
    version: workflowVersion,
    fromNode,
    deploymentId: deployment,
  });
  if (commandLine.args.length === 0) {
    if (requestedKey !== undefined) throw usageError('--idempotency-key is for one run; a bulk has --bulk-id.');
    if (!hasFilter(options))
      throw usageError('Name a run, or say which: --status, --workflow, --created-after, --created-before.');
    return rerunInBulk(context, options, { filters: options, body, verb: 'rerun' });
  }
  const id = parseArgument(commandLine, 0, 'runId', runId);
  if (hasFilter(options) || bulkId !== undefined) throw usageError('A run id and filters exclude each other.');
  const client = await context.client();
  const newRun = await client.rerunRun(id, body, { signal: context.signal, ...omitUndefined({ idempotencyKey: requestedKey }) });
  return { data: newRun, text: newRun.runId };
};
