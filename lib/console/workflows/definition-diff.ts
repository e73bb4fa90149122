/** What differs between two definitions, by node, edge and option. Positions do not count, because they only concern the drawing. */
import { isSameJson } from '../../engine/compare.ts';
import { jsonPointer } from '../../engine/graph/findings.ts';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';

export interface ComparedDefinition {
  readonly nodes: readonly JsonObject[];
  readonly edges: readonly JsonObject[];
  readonly options: JsonObject;
}

/** A value at a JSON pointer. Absent on one side: it was added or removed. */
export interface ValueChange {
  readonly pointer: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

export interface Difference {
  readonly part: 'node' | 'edge' | 'option';
  /** the id of a node, the ends of an edge, the name of an option */
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** relative to the part */
  readonly values: readonly ValueChange[];
}

export function definitionDiff(before: ComparedDefinition, after: ComparedDefinition): readonly Difference[] {
  return [
    ...differences(
      'node',
      byName(before.nodes.map(withoutPosition), nodeName),
      byName(after.nodes.map(withoutPosition), nodeName),
    ),
    ...differences('edge', byName(before.edges.map(withoutId), edgeName), byName(after.edges.map(withoutId), edgeName)),
    ...differences('option', new Map(Object.entries(before.options)), new Map(Object.entries(after.options))),
  ];
}

/** A node without its position, and without an empty config, which means the same as none. */
export function withoutPosition({ position: _position, ...node }: JsonObject): JsonObject {
  const { config, ...rest } = node;
  return config === undefined || (isJsonObject(config) && Object.keys(config).length === 0) ? rest : node;
}

/** The id of an edge only names it in a drawing. */
const withoutId = ({ id: _id, ...edge }: JsonObject): JsonObject => edge;

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
const nodeName = (node: JsonObject): string => text(node['id']);

/** The ends of an edge, with the handle of its source. */
export function edgeName(edge: JsonObject): string {
  const handle = text(edge['sourceHandle']);
  return `${text(edge['source'])}${handle === '' ? '' : ` (${handle})`} → ${text(edge['target'])}`;
}

/** Parts with the same name are numbered in their order. */
export function byName(parts: readonly JsonObject[], nameOf: (part: JsonObject) => string): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  for (const part of parts) {
    const name = nameOf(part);
    let free = name;
    for (let count = 2; found.has(free); count += 1) free = `${name} #${count}`;
    found.set(free, part);
  }
  return found;
}

function differences(
  part: Difference['part'],
  before: ReadonlyMap<string, JsonValue>,
  after: ReadonlyMap<string, JsonValue>,
): readonly Difference[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name): Difference[] => {
    const values = changesOf(before.get(name), after.get(name), '');
    if (values.length === 0) return [];
    const change = before.has(name) ? (after.has(name) ? 'changed' : 'removed') : 'added';
    return [{ part, name, change, values }];
  });
}

/** The values that differ, each at the deepest pointer that both sides have. */
export function changesOf(before: JsonValue | undefined, after: JsonValue | undefined, pointer: string): readonly ValueChange[] {
  if (before !== undefined && after !== undefined) {
    if (isSameJson(before, after)) return [];
    const keys = keysOf(before, after);
    if (keys !== undefined)
      return keys.flatMap((key) => changesOf(childOf(before, key), childOf(after, key), `${pointer}${jsonPointer(key)}`));
  }
  return before === undefined && after === undefined ? [] : [{ pointer, before, after }];
}

/** The keys of two objects, or of two arrays; undefined if the values are compared as a whole. */
function keysOf(before: JsonValue, after: JsonValue): readonly string[] | undefined {
  if (isJsonObject(before) && isJsonObject(after)) return [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (!isJsonArray(before) || !isJsonArray(after)) return undefined;
  return Array.from({ length: Math.max(before.length, after.length) }, (_, index) => String(index));
}

const childOf = (value: JsonValue, key: string): JsonValue | undefined => {
  if (isJsonArray(value)) return value[Number(key)];
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
};
