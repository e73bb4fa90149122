/**
 * The names under `ctx` that a node reads: in its templates, and in its scripts as far as their text shows it. What a script reads for
 * certain is for findings and failures (`namesInCode`). What it could read decides which variables it gets (`readableNames`).
 */
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

/** With these, code can read a variable whose name its text does not show: it reaches `ctx` on another path, or builds code. */
const indirect = /\\u|\b(?:this|globalThis|eval|Function|constructor|prototype|__proto__|\w*PrototypeOf|__\w+ter__)\b/;
const mention = /ctx/g;
const plainRead = /(?<![\p{ID_Continue}$])ctx\s*(?:\?\.|\.)\s*([\p{ID_Start}_$][\p{ID_Continue}$\u200c\u200d]*)/gu;

/**
 * The names under `ctx` that a script can read. Each occurrence of `ctx` counts, in comments and strings too.
 * @returns undefined if the text of the code does not show them all, as in `ctx[key]` or `Object.keys(ctx)`
 */
export function readableNames(code: string): ReadonlySet<string> | undefined {
  if (indirect.test(code)) return undefined;
  const reads = [...code.matchAll(plainRead)];
  if (reads.length !== [...code.matchAll(mention)].length) return undefined;
  const names = new Set(reads.map(([, name = '']) => name));
  // Such as `ctx.valueOf()`, which is the whole context.
  return [...names].some((name) => inherited.has(name)) ? undefined : names;
}
