/** Everything the library function answers. */
import type { Operations } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { lensOperations } from './lenses.ts';
import { queryOperations } from './queries.ts';

export const libraryOperations = (tools: Tools): Operations<'library'> => ({
  ...lensOperations(tools),
  ...queryOperations(tools),
});
