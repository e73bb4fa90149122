/** The names under `ctx` that a node reads: in its templates, and in its scripts as far as their text shows it. */
import type { ContextRead } from '../engine/graph/inspection.ts';
import { jsonPointer } from '../engine/graph/findings.ts';
import { namesReadBy } from '../engine/graph/template.ts';
import type { JsonValue } from '../engine/json.ts';

/** Code of a node, with its path in the config. */
export interface NodeCode {
  readonly path: readonly (string | number)[];
  readonly code: string;
}

/** @param settings the settings of the config that may contain templates */
export const contextReads = (
  settings: readonly (readonly [string, JsonValue])[],
  code: readonly NodeCode[],
): readonly ContextRead[] => [
  ...settings.flatMap(([key, value]) =>
    namesReadBy(value).map(({ pointer, name }) => ({ pointer: `${jsonPointer('config', key)}${pointer}`, name })),
  ),
  ...code.flatMap(({ path, code: text }) => namesInCode(text).map((name) => ({ pointer: jsonPointer('config', ...path), name }))),
];

/**
 * Comments and plain strings. Template strings stay, because they contain expressions. What is not closed ends with the line or the text,
 * so that matching is linear.
 */
const notCode = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?/g;
const read = /(?<![\w$.])ctx\s*(?:\?\.|\.)\s*([\p{ID_Start}_$][\p{ID_Continue}$]*)(?!\p{ID_Continue})(\s*=(?![=>]))?/gu;
const inherited: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

/** The names that a script reads. Empty when the script has a variable `ctx` of its own; without the names that it assigns itself. */
export function namesInCode(code: string): readonly string[] {
  const text = code.replaceAll(notCode, ' ');
  if (/\b(?:const|let|var|function)\s+ctx\b|\(\s*ctx\s*[,)]|\bctx\s*=>/.test(text)) return [];
  const found = [...text.matchAll(read)];
  const assigned = new Set(found.flatMap(([, name = '', assignment]) => (assignment === undefined ? [] : [name])));
  const names = found.map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !assigned.has(name) && !inherited.has(name));
}
