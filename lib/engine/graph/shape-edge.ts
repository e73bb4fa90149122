/** An edge between node numbers. */
import type { EdgeDefinition } from './definition.ts';
import { mainHandle } from './outcome.ts';

export interface ShapeEdge {
  readonly source: number;
  readonly target: number;
  /** handle of the source, with aliases resolved */
  readonly handle: string;
  /** position in the definition's `edges` */
  readonly index: number;
}

/** An edge without a handle uses the main one; `success` is an alias of it. */
export const effectiveHandle = (edge: Pick<EdgeDefinition, 'sourceHandle'>): string =>
  edge.sourceHandle === undefined || edge.sourceHandle === 'success' ? mainHandle : edge.sourceHandle;
