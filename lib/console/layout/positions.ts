/** Where the nodes of a definition are drawn: where their author put them, or in layers if a node has no position. */
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import { type LayoutEdge, type Position, layered } from './layered.ts';

export function positionsOf(nodes: readonly JsonObject[], edges: readonly LayoutEdge[]): ReadonlyMap<string, Position> {
  const given = nodes.map(({ id, position }) => [id, positionIn(position)] as const);
  const placed = given.flatMap(([id, position]): [string, Position][] =>
    typeof id === 'string' && position !== undefined ? [[id, position]] : [],
  );
  if (placed.length === nodes.length) return new Map(placed);
  return layered(
    nodes.flatMap(({ id }) => (typeof id === 'string' ? [{ id }] : [])),
    edges,
  );
}

function positionIn(value: JsonValue | undefined): Position | undefined {
  if (!isJsonObject(value)) return undefined;
  const { x, y } = value;
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : undefined;
}
