/** What the server has of a workflow when its editor opens. */
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { WorkflowName } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import { ApiError, type WorkflowDetail, api } from '../api.ts';
import { emptyDefinition } from './document.ts';
import { readDefinition } from './read-definition.ts';

export interface Stored {
  readonly definition: WorkflowDefinition;
  /** the version that the definition comes from; undefined: the workflow is not published */
  readonly basedOn: number | undefined;
}

/** The definition of a published version, as the editor has it. */
export const definitionOf = (
  name: WorkflowName,
  { nodes, edges, options }: Pick<WorkflowDetail, 'nodes' | 'edges' | 'options'>,
): WorkflowDefinition => {
  const value: JsonValue = JSON.parse(JSON.stringify({ nodes, edges, options }));
  return readDefinition(name, value);
};

export async function loadStored(name: WorkflowName, signal: AbortSignal): Promise<Stored> {
  try {
    const workflow = await api.workflow(name, undefined, signal);
    return { definition: definitionOf(name, workflow), basedOn: workflow.version };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { definition: emptyDefinition(name), basedOn: undefined };
    throw error;
  }
}
