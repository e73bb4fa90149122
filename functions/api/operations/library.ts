/** Everything the library function answers. */
import type { Operations } from '../operation.ts';
import type { Tools } from '../tools.ts';

export const libraryOperations = (_tools: Tools): Operations<'library'> => ({});
