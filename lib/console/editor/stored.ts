/** What the server has of a workflow when its editor opens: its draft, or its latest version, or nothing. */
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { PinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import type { WorkflowName } from '../../engine/ids.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { ApiError, api } from '../api.ts';
import { emptyDefinition } from './document.ts';
import { readDefinition } from './read-definition.ts';

export interface Stored {
  readonly definition: WorkflowDefinition;
  /** of the draft: the outputs that its tests pin */
  readonly pins: PinnedOutputs;
  /** the version that the definition comes from; null: the workflow had none */
  readonly basedOn: number | null;
  /** of the draft; 0: there is none */
  readonly revision: number;
  /** of the draft */
  readonly savedAt: string | undefined;
}

interface DefinitionParts {
  readonly nodes: readonly JsonObject[];
  readonly edges: readonly JsonObject[];
  readonly options: JsonObject;
}

/** The definition of a published version, as the editor has it. */
export const definitionOf = (name: WorkflowName, { nodes, edges, options }: DefinitionParts): WorkflowDefinition => {
  const value: JsonValue = JSON.parse(JSON.stringify({ nodes, edges, options }));
  return readDefinition(name, value);
};

/** Undefined if the server says that there is none. */
async function found<Found>(request: Promise<Found>): Promise<Found | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

export async function loadStored(name: WorkflowName, signal: AbortSignal): Promise<Stored> {
  const draft = await found(api.draft(name, signal));
  if (draft !== undefined) {
    const { basedOn, revision, updatedAt, pinned: pins = {} } = draft;
    return { definition: readDefinition(name, draft.definition), pins, basedOn, revision, savedAt: updatedAt };
  }
  const workflow = await found(api.workflow(name, undefined, signal));
  if (workflow === undefined)
    return { definition: emptyDefinition(name), pins: {}, basedOn: null, revision: 0, savedAt: undefined };
  return { definition: definitionOf(name, workflow), pins: {}, basedOn: workflow.version, revision: 0, savedAt: undefined };
}

/** The definition of a version; null: the empty one that a new workflow begins with. */
export async function loadVersion(
  name: WorkflowName,
  version: number | null,
): Promise<DefinitionParts & { readonly version: number | null }> {
  if (version === null) return { nodes: [], edges: [], options: {}, version: null };
  return api.workflow(name, version, new AbortController().signal);
}
