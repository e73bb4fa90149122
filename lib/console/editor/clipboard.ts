/** Copied nodes as text, so that they can be pasted into another workflow, another tab, or an editor of text. */
import type { EdgeDefinition, NodeDefinition, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { jsonPointer } from '../../engine/graph/findings.ts';
import type { NodeId } from '../../engine/ids.ts';
import { type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';
import { freeId } from './commands.ts';
import type { EditorDocument } from './document.ts';
import { readEdge, readNode } from './read-definition.ts';
import { withRenamedReferences } from './references.ts';

/** The nodes, and the edges between them. */
export function copied({ nodes, edges }: WorkflowDefinition, ids: readonly string[]): string {
  return JSON.stringify(
    {
      nodes: nodes.filter(({ id }) => ids.includes(id)),
      edges: edges.filter(({ source, target }) => ids.includes(source) && ids.includes(target)),
    },
    undefined,
    2,
  );
}

interface Fragment {
  readonly nodes: readonly NodeDefinition[];
  readonly edges: readonly EdgeDefinition[];
}

/** Undefined if the text has no nodes. Throws `NoDefinition` if it has some that cannot be read. */
function fragmentIn(text: string): Fragment | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { nodes, edges = [] } = isJsonObject(value) ? value : {};
  if (!isJsonArray(nodes) || nodes.length === 0 || !isJsonArray(edges)) return undefined;
  return {
    nodes: nodes.map((node, index) => readNode(node, jsonPointer('nodes', index))),
    edges: edges.map((edge, index) => readEdge(edge, jsonPointer('edges', index))),
  };
}

/** A pasted node is drawn beside its original. */
const shift = 40;

/** Pastes the nodes of a text under free ids, and selects them. The same document if the text has none. */
export function pasted(document: EditorDocument, text: string): EditorDocument {
  const fragment = fragmentIn(text);
  if (fragment === undefined) return document;
  const { definition } = document;
  const taken = new Set<string>(definition.nodes.map(({ id }) => id));
  const ids = new Map<string, NodeId>();
  for (const { id } of fragment.nodes) {
    const free = taken.has(id) ? freeId(taken, id.replace(/\d+$/, '')) : id;
    taken.add(free);
    ids.set(id, free);
  }
  const nodes = fragment.nodes.map((node): NodeDefinition => {
    const config = [...ids].reduce(
      (sofar, [from, to]) => withRenamedReferences({ ...node, config: sofar }, from, to),
      node.config,
    );
    const id = ids.get(node.id) ?? node.id;
    // A variable that was named after its node is named after the new one: two nodes do not write one name.
    const own = config['outputVariable'] === node.id ? { ...config, outputVariable: id } : config;
    const { position } = node;
    return {
      ...node,
      id,
      config: own,
      ...(position === undefined ? {} : { position: { x: position.x + shift, y: position.y + shift } }),
    };
  });
  const edges = fragment.edges.flatMap((edge): EdgeDefinition[] => {
    const [source, target] = [ids.get(edge.source), ids.get(edge.target)];
    return source === undefined || target === undefined ? [] : [{ ...edge, source, target }];
  });
  return {
    ...document,
    definition: { ...definition, nodes: [...definition.nodes, ...nodes], edges: [...definition.edges, ...edges] },
    selection: { nodes: nodes.map(({ id }) => id), edge: undefined },
  };
}
