/** Everything the library function answers. */
import type { Operations } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { auditOperations } from './audit.ts';
import { keyOperations } from './keys.ts';
import { lensOperations } from './lenses.ts';
import { queryOperations } from './queries.ts';
import { scheduleOperations } from './schedules.ts';
import { openApiOperations } from './service.ts';

export const libraryOperations = (tools: Tools): Operations<'library'> => ({
  ...lensOperations(tools),
  ...queryOperations(tools),
  ...scheduleOperations(tools),
  ...keyOperations(tools),
  ...auditOperations(tools),
  ...openApiOperations(),
});
