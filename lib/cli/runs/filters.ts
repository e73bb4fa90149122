/** The filters by which runs are listed, cancelled and run again. */
import * as z from 'zod';
import { runStatuses } from '../../engine/log/head.ts';
import { moment, present, workflowName } from '../given.ts';

export const filterOptions = {
  status: z.enum(runStatuses).optional(),
  workflow: workflowName.optional(),
  createdAfter: moment.optional(),
  createdBefore: moment.optional(),
};
const shape = z.object(filterOptions);
export type Filters = z.output<typeof shape>;

export const queryOf = ({ status, workflow, createdAfter, createdBefore }: Filters) =>
  present({ status, workflowName: workflow, createdAfter, createdBefore });

export const hasFilter = (filters: Filters): boolean => Object.keys(queryOf(filters)).length > 0;
