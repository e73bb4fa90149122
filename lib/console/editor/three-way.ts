/**
 * The merge of two changed definitions over their common base, by node, edge and option. A part that only one side changed has that
 * side; a part that both changed is a conflict, which the author decides.
 */
import { isSameJson } from '../../engine/compare.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type ComparedDefinition, byName, edgeName, withoutPosition } from '../workflows/definition-diff.ts';

export type Side = 'mine' | 'newest';

export interface MergePart {
  readonly key: string;
  readonly part: 'node' | 'edge' | 'option';
  readonly name: string;
  /** undefined: that definition has no such part */
  readonly base: JsonValue | undefined;
  readonly newest: JsonValue | undefined;
  readonly mine: JsonValue | undefined;
  readonly isConflict: boolean;
  /** the side that changed it; of a conflict: mine */
  readonly proposal: Side;
}

type Parts = ReadonlyMap<string, JsonValue>;

const partsOf = ({ nodes, edges, options }: ComparedDefinition): Readonly<Record<MergePart['part'], Parts>> => ({
  node: byName(nodes, ({ id }) => (typeof id === 'string' ? id : '')),
  edge: byName(
    edges.map(({ id: _id, ...edge }): JsonObject => edge),
    edgeName,
  ),
  option: new Map(Object.entries(options)),
});

const isSame = (part: MergePart['part'], one: JsonValue | undefined, other: JsonValue | undefined): boolean => {
  if (one === undefined || other === undefined) return one === other;
  return part === 'node' ? isSameJson(comparable(one), comparable(other)) : isSameJson(one, other);
};
const comparable = (node: JsonValue): JsonValue =>
  typeof node === 'object' && node !== null && !Array.isArray(node)
    ? withoutPosition(Object.fromEntries(Object.entries(node)))
    : node;

/** The parts that differ from the base on one side or on both. */
export function mergeParts(base: ComparedDefinition, newest: ComparedDefinition, mine: ComparedDefinition): readonly MergePart[] {
  const [before, theirs, own] = [partsOf(base), partsOf(newest), partsOf(mine)];
  return (['node', 'edge', 'option'] as const).flatMap((part) => {
    const names = new Set([...own[part].keys(), ...theirs[part].keys(), ...before[part].keys()]);
    return [...names].flatMap((name): MergePart[] => {
      const [old, their, my] = [before[part].get(name), theirs[part].get(name), own[part].get(name)];
      const [isNewest, isMine] = [!isSame(part, old, their), !isSame(part, old, my)];
      if (!isNewest && !isMine) return [];
      return [
        {
          key: `${part} ${name}`,
          part,
          name,
          base: old,
          newest: their,
          mine: my,
          isConflict: isNewest && isMine && !isSame(part, their, my),
          proposal: isMine ? 'mine' : 'newest',
        },
      ];
    });
  });
}

/** The definition with the chosen side of each part: mine, with the parts of the newest that were chosen. */
export function merged(
  mine: ComparedDefinition,
  parts: readonly MergePart[],
  sideOf: (part: MergePart) => Side,
): ComparedDefinition {
  const own = partsOf(mine);
  const result = { node: new Map(own.node), edge: new Map(own.edge), option: new Map(own.option) };
  for (const part of parts) {
    const value = sideOf(part) === 'mine' ? part.mine : part.newest;
    if (value === undefined) result[part.part].delete(part.name);
    else if (sideOf(part) === 'newest') result[part.part].set(part.name, value);
  }
  const objects = (values: Iterable<JsonValue>): readonly JsonObject[] =>
    [...values].flatMap((value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? [Object.fromEntries(Object.entries(value))] : [],
    );
  return {
    nodes: objects(result.node.values()),
    edges: objects(result.edge.values()),
    options: Object.fromEntries(result.option),
  };
}
