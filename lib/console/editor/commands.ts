/** The commands of the editor. Each takes a document and gives the next one; the same document means that nothing changed. */
import { defined } from '../../base/defined.ts';
import type { EdgeDefinition, NodeDefinition, WorkflowOptions } from '../../engine/graph/definition.ts';
import { mainHandle } from '../../engine/graph/outcome.ts';
import type { PinnedOutput } from '../../engine/graph/pinned-outputs.ts';
import { effectiveHandle } from '../../engine/graph/shape.ts';
import { type NodeId, nodeId, nodeIdPattern } from '../../engine/ids.ts';
import type { JsonObject } from '../../engine/json.ts';
import { type Position, layered } from '../layout/layered.ts';
import { type EditorDocument, nodeIn, nothingSelected } from './document.ts';
import { templateOf } from './node-templates.ts';
import { withRenamedReferences } from './references.ts';

/** The distances between nodes of a new graph. A node with several handles is higher. */
export const spacing = { layerWidth: 250, rowHeight: 116 } as const;

const withNodes = (document: EditorDocument, nodes: readonly NodeDefinition[]): EditorDocument => ({
  ...document,
  definition: { ...document.definition, nodes },
});
const withEdges = (document: EditorDocument, edges: readonly EdgeDefinition[]): EditorDocument => ({
  ...document,
  definition: { ...document.definition, edges },
});

export const select = (document: EditorDocument, ...ids: readonly string[]): EditorDocument => {
  const nodes = document.definition.nodes.flatMap(({ id }) => (ids.includes(id) ? [id] : []));
  return { ...document, selection: { nodes, edge: undefined } };
};
export const selectEdge = (document: EditorDocument, edge: number): EditorDocument => ({
  ...document,
  selection: { nodes: [], edge },
});
export const selectNothing = (document: EditorDocument): EditorDocument => ({ ...document, selection: nothingSelected });

/** The first free id of a base: `script`, `script2`, `script3`. */
export function freeId(taken: ReadonlySet<string>, base: string): NodeId {
  for (let count = 1; ; count += 1) {
    const id = count === 1 ? base : `${base}${count}`;
    if (!taken.has(id)) return nodeId(id);
  }
}

const idsOf = ({ definition: { nodes } }: EditorDocument): Set<string> => new Set<string>(nodes.map(({ id }) => id));

export interface Connection {
  readonly source: string;
  readonly handle: string;
}

/**
 * Adds a node of the type and selects it.
 * @param after connects it behind this handle
 * @param at where it is drawn; without it, the node is beside the one before it
 */
export function addNode(document: EditorDocument, type: string, after?: Connection, at?: Position): EditorDocument {
  const { idBase, config, writes } = templateOf(type);
  const id = freeId(idsOf(document), idBase);
  const position = at ?? placeAfter(document.definition.nodes, after?.source);
  const node: NodeDefinition = defined({
    id,
    type,
    config: writes === true ? { ...config, outputVariable: id } : config,
    position: position === undefined ? undefined : rounded(position),
  });
  const added = select(withNodes(document, [...document.definition.nodes, node]), id);
  return after === undefined ? added : connect(added, after.source, after.handle, id);
}

/** A free place to the right of a node, if the nodes have places. */
function placeAfter(nodes: readonly NodeDefinition[], source: string | undefined): Position | undefined {
  const positions = nodes.flatMap(({ position }) => (position === undefined ? [] : [position]));
  if (positions.length < nodes.length || nodes.length === 0) return undefined;
  const from = nodes.find(({ id }) => id === source)?.position;
  const rightmost = Math.max(...positions.map(({ x }) => x));
  const x = (from?.x ?? rightmost) + spacing.layerWidth;
  let y = from?.y ?? 0;
  const isTaken = (): boolean =>
    positions.some(
      (other) => Math.abs(other.x - x) < spacing.layerWidth * 0.8 && Math.abs(other.y - y) < spacing.rowHeight * 0.8,
    );
  while (isTaken()) y += spacing.rowHeight;
  return { x, y };
}

const rounded = ({ x, y }: Position): Position => ({ x: Math.round(x), y: Math.round(y) });

/** Puts a new node into an edge: the edge leads to it, and its main handle to the former target. */
export function insertIntoEdge(document: EditorDocument, index: number, type: string): EditorDocument {
  const edge = document.definition.edges[index];
  if (edge === undefined) return document;
  const [source, target] = [nodeIn(document.definition, edge.source), nodeIn(document.definition, edge.target)];
  const between =
    source?.position === undefined || target?.position === undefined
      ? undefined
      : { x: (source.position.x + target.position.x) / 2, y: (source.position.y + target.position.y) / 2 };
  const added = addNode(document, type, undefined, between);
  const [id] = added.selection.nodes;
  if (id === undefined) return document;
  const edges = added.definition.edges.map((each, at) => (at === index ? { ...each, target: id } : each));
  return withEdges(added, [...edges, { source: id, target: edge.target }]);
}

/** Removes nodes with their edges and pins. */
export function removeNodes(document: EditorDocument, ids: readonly string[]): EditorDocument {
  const { definition, pins } = document;
  const nodes = definition.nodes.filter(({ id }) => !ids.includes(id));
  if (nodes.length === definition.nodes.length) return document;
  const edges = definition.edges.filter(({ source, target }) => !ids.includes(source) && !ids.includes(target));
  return {
    definition: { ...definition, nodes, edges },
    selection: nothingSelected,
    pins: Object.fromEntries(Object.entries(pins).filter(([id]) => !ids.includes(id))),
  };
}

export const removeEdge = (document: EditorDocument, index: number): EditorDocument =>
  document.definition.edges[index] === undefined
    ? document
    : selectNothing(
        withEdges(
          document,
          document.definition.edges.filter((_, at) => at !== index),
        ),
      );

/** Removes what is selected. */
export function removeSelection(document: EditorDocument): EditorDocument {
  const { nodes, edge } = document.selection;
  return edge === undefined ? removeNodes(document, nodes) : removeEdge(document, edge);
}

/** An edge to the same target by the same handle exists once; further ones differ in their value and are made from its form. */
export function connect(document: EditorDocument, source: string, handle: string, target: string): EditorDocument {
  const { definition } = document;
  const [from, to] = [nodeIn(definition, source), nodeIn(definition, target)];
  if (from === undefined || to === undefined || from === to) return document;
  const edge: EdgeDefinition = defined({
    source: from.id,
    target: to.id,
    sourceHandle: handle === mainHandle ? undefined : handle,
  });
  const exists = definition.edges.some(
    (each) => each.source === source && each.target === target && effectiveHandle(each) === effectiveHandle(edge),
  );
  return exists ? document : withEdges(document, [...definition.edges, edge]);
}

/** Moves the ends of an edge, which keeps what it carries. Nothing changes where the same edge exists already. */
export function reconnect(
  document: EditorDocument,
  index: number,
  { source, handle, target }: Connection & { readonly target: string },
): EditorDocument {
  const { definition } = document;
  const edge = definition.edges[index];
  const [from, to] = [nodeIn(definition, source), nodeIn(definition, target)];
  if (edge === undefined || from === undefined || to === undefined || from === to) return document;
  const { sourceHandle: _former, ...carried } = edge;
  const moved: EdgeDefinition = {
    ...carried,
    source: from.id,
    target: to.id,
    ...defined({ sourceHandle: handle === mainHandle ? undefined : handle }),
  };
  const exists = definition.edges.some(
    (each) =>
      each.source === source &&
      each.target === target &&
      effectiveHandle(each) === effectiveHandle(moved) &&
      each.targetParamLabel === moved.targetParamLabel,
  );
  return exists ? document : editEdge(document, index, moved);
}

export const editEdge = (document: EditorDocument, index: number, edge: EdgeDefinition): EditorDocument =>
  withEdges(
    document,
    document.definition.edges.map((each, at) => (at === index ? edge : each)),
  );

const editNode = (document: EditorDocument, id: string, change: (node: NodeDefinition) => NodeDefinition): EditorDocument =>
  withNodes(
    document,
    document.definition.nodes.map((node) => (node.id === id ? change(node) : node)),
  );

export const setConfig = (document: EditorDocument, id: string, config: JsonObject): EditorDocument =>
  editNode(document, id, (node) => ({ ...node, config }));

/** An empty label is no label: the node has its id as its name. */
export const setLabel = (document: EditorDocument, id: string, label: string): EditorDocument =>
  editNode(document, id, ({ label: _label, ...node }) => (label === '' ? node : { ...node, label }));

/** Renames a node everywhere: its edges, its pin, and `[[id.path]]` in lenses. Undefined if the id is invalid or taken. */
export function renameNode(document: EditorDocument, from: string, to: string): EditorDocument | undefined {
  if (from === to) return document;
  if (!nodeIdPattern.test(to) || idsOf(document).has(to)) return undefined;
  const id = nodeId(to);
  const { definition, selection, pins } = document;
  const renamed = (each: NodeId): NodeId => (each === from ? id : each);
  return {
    definition: {
      ...definition,
      nodes: definition.nodes.map((node) => ({ ...node, id: renamed(node.id), config: withRenamedReferences(node, from, to) })),
      edges: definition.edges.map((edge) => ({ ...edge, source: renamed(edge.source), target: renamed(edge.target) })),
    },
    selection: { ...selection, nodes: selection.nodes.map(renamed) },
    pins: Object.fromEntries(Object.entries(pins).map(([name, pin]) => [name === from ? to : name, pin])),
  };
}

/** @param drawn where all nodes are drawn: a graph has a position for each node, or for none */
export const moveNodes = (document: EditorDocument, drawn: ReadonlyMap<string, Position>): EditorDocument =>
  withNodes(
    document,
    document.definition.nodes.map((node) => {
      const position = drawn.get(node.id);
      return position === undefined ? node : { ...node, position: rounded(position) };
    }),
  );

/** Puts the nodes in layers from left to right. */
export const arrange = (document: EditorDocument): EditorDocument =>
  moveNodes(document, layered(document.definition.nodes, document.definition.edges, spacing));

export const setOptions = (document: EditorDocument, options: WorkflowOptions): EditorDocument => ({
  ...document,
  definition: { ...document.definition, options },
});

export const replaceDefinition = (
  document: EditorDocument,
  { nodes, edges, options }: Pick<EditorDocument['definition'], 'nodes' | 'edges' | 'options'>,
): EditorDocument => ({
  definition: { ...document.definition, nodes, edges, options },
  selection: nothingSelected,
  pins: Object.fromEntries(Object.entries(document.pins).filter(([id]) => nodes.some((node) => node.id === id))),
});

/** @param pin undefined: the node runs */
export function pinNode(document: EditorDocument, id: string, pin: PinnedOutput | undefined): EditorDocument {
  const { [id]: _former, ...others } = document.pins;
  return { ...document, pins: pin === undefined ? others : { ...others, [id]: pin } };
}
