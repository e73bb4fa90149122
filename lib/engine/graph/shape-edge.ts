/** An edge by the numbers of its ends. */
import type { EdgeDefinition } from './definition.ts';
import { mainHandle } from './outcome.ts';

export interface ShapeEdge {
  readonly source: number;
  readonly target: number;
  /** which way out of the source; the main one by its one name */
  readonly handle: string;
  /** position in the definition's `edges` */
  readonly index: number;
}

/** An edge without a handle follows the main one; `success` is another name of it. */
export const effectiveHandle = (edge: Pick<EdgeDefinition, 'sourceHandle'>): string =>
  edge.sourceHandle === undefined || edge.sourceHandle === 'success' ? mainHandle : edge.sourceHandle;
