/** Publishes a definition over the version that its author started from. */
import { defined } from '../../base/defined.ts';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import { ApiError, type PublishBody, api } from '../api.ts';
import { comparedOf } from './compared.ts';
import { definitionJson } from './read-definition.ts';
import { publishable } from '../workflows/publishable.ts';

interface Publication {
  /** null: the workflow must be new */
  readonly basedOn: number | null;
  readonly note: string;
  /** of the draft, which publishing deletes; 0: there is none */
  readonly draftRevision: number;
}

/** The version that it became, or the newest version if that is another one than the author started from. */
export async function publish(
  definition: WorkflowDefinition,
  { basedOn, note, draftRevision }: Publication,
): Promise<{ readonly version: number } | { readonly newest: number }> {
  const body: PublishBody = {
    ...publishable(comparedOf(definitionJson(definition))),
    ...defined({ note: note === '' ? undefined : note, draftRevision: draftRevision === 0 ? undefined : draftRevision }),
  };
  try {
    return basedOn === null
      ? await api.createWorkflow({ ...body, name: definition.name, basedOn: null })
      : await api.publish(definition.name, { ...body, basedOn });
  } catch (error) {
    const newest = error instanceof ApiError && error.code === 'version_conflict' ? error.current.version : undefined;
    if (newest === undefined) throw error;
    return { newest };
  }
}
