import * as z from 'zod';
import type { Action } from '../command.ts';
import { moment, optionsIn, workflowName } from '../given.ts';
import { bulkOptions } from '../runs/bulk.ts';
import { rerunInBulk } from '../runs/rerun-bulk.ts';

/** What a node fails with whose message ended in a dead-letter queue. */
const lostCode = 'recovery_error';

const shape = z.object({
  ...bulkOptions,
  workflow: workflowName.optional(),
  createdAfter: moment.optional(),
  createdBefore: moment.optional(),
  bulkId: z.string().optional(),
});

export const redrive: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const { workflow, createdAfter, createdBefore } = options;
  return rerunInBulk(shell, options, {
    filters: { status: 'failed', workflow, createdAfter, createdBefore },
    body: {},
    isMeant: ({ error }) => error?.code === lostCode,
    verb: 'rerun',
  });
};
