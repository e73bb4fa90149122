/** What the editor edits: a definition, what is selected in it, and the outputs that a test run pins. */
import type { EdgeDefinition, NodeDefinition, WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { PinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import type { NodeId, WorkflowName } from '../../engine/ids.ts';

export interface Selection {
  readonly nodes: readonly NodeId[];
  /** a position in `edges` */
  readonly edge: number | undefined;
}

export interface EditorDocument {
  readonly definition: WorkflowDefinition;
  readonly selection: Selection;
  readonly pins: PinnedOutputs;
}

/** What a draft stores. */
export type Edited = Pick<EditorDocument, 'definition' | 'pins'>;

export const nothingSelected: Selection = { nodes: [], edge: undefined };

export const documentOf = (definition: WorkflowDefinition, pins: PinnedOutputs = {}): EditorDocument => ({
  definition,
  selection: nothingSelected,
  pins,
});

export const emptyDefinition = (name: WorkflowName): WorkflowDefinition => ({ name, nodes: [], edges: [], options: {} });

export const nodeIn = ({ nodes }: Pick<WorkflowDefinition, 'nodes'>, id: string): NodeDefinition | undefined =>
  nodes.find((node) => node.id === id);

/** The one selected node, if it is the only one. */
export const selectedNode = ({ definition, selection: { nodes } }: EditorDocument): NodeDefinition | undefined => {
  const [id, other] = nodes;
  return id === undefined || other !== undefined ? undefined : nodeIn(definition, id);
};

export const selectedEdge = ({ definition, selection: { edge } }: EditorDocument): EdgeDefinition | undefined =>
  edge === undefined ? undefined : definition.edges[edge];
