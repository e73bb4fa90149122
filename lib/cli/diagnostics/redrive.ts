import * as z from 'zod';
import type { Action } from '../command.ts';
import { timestamp, parseOptions, workflowName } from '../parse-command-line.ts';
import { bulkOptions } from '../runs/bulk-operation.ts';
import { rerunInBulk } from '../runs/rerun-bulk.ts';

/** What a node fails with whose message ended in a dead-letter queue. */
const lostMessageCode = 'recovery_error';

const shape = z.object({
  ...bulkOptions,
  workflow: workflowName.optional(),
  createdAfter: timestamp.optional(),
  createdBefore: timestamp.optional(),
  bulkId: z.string().optional(),
});

export const redrive: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const { workflow, createdAfter, createdBefore } = options;
  return rerunInBulk(context, options, {
    filters: { status: 'failed', workflow, createdAfter, createdBefore },
    body: {},
    shouldRerun: ({ error }) => error?.code === lostMessageCode,
    verb: 'rerun',
  });
};
