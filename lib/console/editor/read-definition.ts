/**
 * Reads a definition from JSON, as the server's schema accepts it. What the graph means is checked afterwards; here it only has to have
 * the form of a definition, so that the editor can show it.
 */
import { defined } from '../../base/defined.ts';
import {
  type EdgeCondition,
  type EdgeDefinition,
  type NodeDefinition,
  type WorkflowDefinition,
  type WorkflowOptions,
  mergeStrategies,
} from '../../engine/graph/definition.ts';
import { jsonPointer } from '../../engine/graph/findings.ts';
import { type WorkflowName, nodeId, nodeIdPattern } from '../../engine/ids.ts';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';

/** Says where the JSON is no definition. The editor shows the message. */
export class NoDefinition extends Error {
  override readonly name = 'NoDefinition';
  constructor(pointer: string, message: string) {
    super(`${pointer === '' ? 'the definition' : pointer} ${message}`);
  }
}

/** Throws `NoDefinition`. */
export function readDefinition(name: WorkflowName, value: JsonValue): WorkflowDefinition {
  if (!isJsonObject(value)) throw new NoDefinition('', 'must be an object with nodes and edges');
  onlyKeys(value, '', ['name', 'nodes', 'edges', 'options', 'version']);
  const { nodes, edges = [], options = {} } = value;
  if (!isJsonArray(nodes)) throw new NoDefinition('/nodes', 'must be an array');
  if (!isJsonArray(edges)) throw new NoDefinition('/edges', 'must be an array');
  if (!isJsonObject(options)) throw new NoDefinition('/options', 'must be an object');
  return {
    name,
    nodes: nodes.map((node, index) => readNode(node, jsonPointer('nodes', index))),
    edges: edges.map((edge, index) => readEdge(edge, jsonPointer('edges', index))),
    options: readOptions(options),
  };
}

function onlyKeys(value: JsonObject, pointer: string, known: readonly string[]): void {
  const other = Object.keys(value).find((key) => !known.includes(key));
  if (other !== undefined)
    throw new NoDefinition(`${pointer}${jsonPointer(other)}`, `is unknown: the keys are ${known.join(', ')}`);
}

function idAt(value: JsonValue | undefined, pointer: string): NodeDefinition['id'] {
  if (typeof value === 'string' && nodeIdPattern.test(value)) return nodeId(value);
  throw new NoDefinition(pointer, 'must be the id of a node: letters, digits and _ . : -, at most 128 characters');
}

function textAt(value: JsonValue | undefined, pointer: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw new NoDefinition(pointer, 'must be a text');
}

export function readNode(value: JsonValue, pointer: string): NodeDefinition {
  if (!isJsonObject(value)) throw new NoDefinition(pointer, 'must be an object');
  onlyKeys(value, pointer, ['id', 'type', 'label', 'config', 'position']);
  const { id, type, label, config = {}, position } = value;
  if (typeof type !== 'string' || type === '') throw new NoDefinition(`${pointer}/type`, 'must be the type of a node');
  if (!isJsonObject(config)) throw new NoDefinition(`${pointer}/config`, 'must be an object');
  return defined({
    id: idAt(id, `${pointer}/id`),
    type,
    label: textAt(label, `${pointer}/label`),
    config,
    position: position === undefined ? undefined : readPosition(position, `${pointer}/position`),
  });
}

function readPosition(value: JsonValue, pointer: string): { readonly x: number; readonly y: number } {
  const { x, y } = isJsonObject(value) ? value : {};
  if (typeof x === 'number' && typeof y === 'number') return { x, y };
  throw new NoDefinition(pointer, 'must have the numbers x and y');
}

const edgeKeys = ['id', 'source', 'target', 'sourceHandle', 'sourceOutputKey', 'targetParamLabel', 'mergeStrategy', 'condition'];

export function readEdge(value: JsonValue, pointer: string): EdgeDefinition {
  if (!isJsonObject(value)) throw new NoDefinition(pointer, 'must be an object');
  onlyKeys(value, pointer, edgeKeys);
  const text = (key: string): string | undefined => textAt(value[key], `${pointer}/${key}`);
  const merge = text('mergeStrategy');
  const mergeStrategy = mergeStrategies.find((known) => known === merge);
  if (merge !== mergeStrategy) throw new NoDefinition(`${pointer}/mergeStrategy`, `must be one of ${mergeStrategies.join(', ')}`);
  const { condition } = value;
  return defined({
    id: text('id'),
    source: idAt(value['source'], `${pointer}/source`),
    target: idAt(value['target'], `${pointer}/target`),
    sourceHandle: text('sourceHandle'),
    sourceOutputKey: text('sourceOutputKey'),
    targetParamLabel: text('targetParamLabel'),
    mergeStrategy,
    condition: condition === undefined ? undefined : readCondition(condition, `${pointer}/condition`),
  });
}

function readCondition(value: JsonValue, pointer: string): EdgeCondition {
  const { type, value: compared } = isJsonObject(value) ? value : {};
  if (type === 'present' || type === 'truthy') return { type };
  if ((type === 'equals' || type === 'contains') && compared !== undefined) return { type, value: compared };
  throw new NoDefinition(pointer, 'must have the type present or truthy, or equals or contains with a value');
}

/** The server checks the options. The editor shows those that it knows, and keeps the others. */
export function readOptions(options: JsonObject): WorkflowOptions {
  const { args } = options;
  if (args !== undefined && (!isJsonArray(args) || !args.every(isArgument)))
    throw new NoDefinition('/options/args', 'must be an array of arguments, each with a name and a type');
  return options;
}

const isArgument = (value: JsonValue): boolean =>
  isJsonObject(value) && typeof value['name'] === 'string' && typeof value['type'] === 'string';

/** The definition as the API takes it: without a config that is empty. */
export function definitionJson({ nodes, edges, options }: WorkflowDefinition): JsonObject {
  const body = { nodes, edges, options };
  return JSON.parse(JSON.stringify(body));
}
