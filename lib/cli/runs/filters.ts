/** The filters by which runs are listed, cancelled and run again. */
import * as z from 'zod';
import { runStatuses } from '../../engine/log/head.ts';
import { timestamp, omitUndefined, workflowName } from '../parse-command-line.ts';

export const filterOptions = {
  status: z.enum(runStatuses).optional(),
  workflow: workflowName.optional(),
  createdAfter: timestamp.optional(),
  createdBefore: timestamp.optional(),
};
const shape = z.object(filterOptions);
export type Filters = z.output<typeof shape>;

export const toRunQuery = ({ status, workflow, createdAfter, createdBefore }: Filters) =>
  omitUndefined({ status, workflowName: workflow, createdAfter, createdBefore });

export const hasFilter = (filters: Filters): boolean => Object.keys(toRunQuery(filters)).length > 0;
