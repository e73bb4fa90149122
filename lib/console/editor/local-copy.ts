/** A copy of unsaved work in the browser. It survives an expired session and a lost connection, and is offered on return. */
import { defined } from '../../base/defined.ts';
import type { PinnedOutput, PinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import type { WorkflowName } from '../../engine/ids.ts';
import { type JsonValue, isJsonObject } from '../../engine/json.ts';
import type { Edited } from './document.ts';
import { definitionJson, readDefinition } from './read-definition.ts';

export interface LocalCopy extends Edited {
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
    const { at, definition, pins } = stored;
    if (typeof at !== 'string' || definition === undefined) return undefined;
    return { at, definition: readDefinition(name, definition), pins: readPins(pins) };
  } catch {
    return undefined;
  }
}

/** A copy of an earlier version of the page has no pins. */
function readPins(value: JsonValue | undefined): PinnedOutputs {
  const found: [string, PinnedOutput][] = [];
  for (const [id, pin] of value !== undefined && isJsonObject(value) ? Object.entries(value) : [])
    if (isJsonObject(pin) && pin['output'] !== undefined) {
      const { output, handle } = pin;
      found.push([id, defined({ output, handle: typeof handle === 'string' ? handle : undefined })]);
    }
  return Object.fromEntries(found);
}

/** A full or forbidden storage loses the copy, and nothing else. */
export function writeCopy(key: string, { definition, pins }: Edited): void {
  try {
    localStorage.setItem(key, JSON.stringify({ at: new Date().toISOString(), definition: definitionJson(definition), pins }));
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
