/** A copy of unsaved work in the browser. It survives an expired session and a lost connection, and is offered on return. */
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { WorkflowName } from '../../engine/ids.ts';
import { type JsonValue, isJsonObject } from '../../engine/json.ts';
import { definitionJson, readDefinition } from './read-definition.ts';

export interface LocalCopy {
  readonly definition: WorkflowDefinition;
  /** when it was written */
  readonly at: string;
}

/** @param scope the project and environment: one browser can edit a name in several */
export const copyKey = (scope: string, name: WorkflowName): string => `stepwell-unsaved ${scope} ${name}`;

/** Undefined if there is none, or one that this page cannot read. */
export function readCopy(key: string, name: WorkflowName): LocalCopy | undefined {
  try {
    const stored: JsonValue = JSON.parse(localStorage.getItem(key) ?? 'null');
    if (!isJsonObject(stored)) return undefined;
    const { at, definition } = stored;
    if (typeof at !== 'string' || definition === undefined) return undefined;
    return { at, definition: readDefinition(name, definition) };
  } catch {
    return undefined;
  }
}

/** A full or forbidden storage loses the copy, and nothing else. */
export function writeCopy(key: string, definition: WorkflowDefinition): void {
  try {
    localStorage.setItem(key, JSON.stringify({ at: new Date().toISOString(), definition: definitionJson(definition) }));
  } catch {
    // The server's draft remains.
  }
}

export function removeCopy(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // There was none.
  }
}
