/**
 * Reads one block of a template: `{{ctx.order.lines[0]["unit price"]}}`. Paths are looked up and nothing else:
 * no calls, no arithmetic, no logic, so a template needs no sandbox and says by itself what it depends on.
 */

/** The steps behind `ctx`: a name for an object's key, a number for an array's place. Empty: all of the context. */
export type Path = readonly (string | number)[];

export type ParsedPath =
  | { readonly path: Path; /** the first character behind the block */ readonly end: number }
  /** `{{secret:name}}`: no value of the run, so nothing stands behind the name */
  | { readonly secret: string; readonly end: number }
  | { readonly error: string };

const space = /\s*/y;
const root = /[\p{ID_Start}_$][\p{ID_Continue}$]*/uy;
/** The pattern of `lib/engine/secret-name.ts`, and nothing behind it. */
const secret = /:([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\s*\}\}/y;
const dotted = /\.([\p{ID_Start}_$][\p{ID_Continue}$]*|\d+)/uy;
const index = /\[\s*(\d{1,9})\s*\]/y;
/** Two alternatives that begin differently and never overlap: linear, whatever the text. */
const quoted = /\[\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\]/sy;

/** @param start the first character behind the opening braces */
export function parsePath(text: string, start: number): ParsedPath {
  let at = start;
  const consume = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at += match[0].length;
    return match;
  };
  consume(space);
  const name = consume(root)?.[0];
  if (name === undefined) return { error: expectedError(text, at, 'a path that begins with ctx') };
  if (name === 'secret' && text.startsWith(':', at)) {
    const named = consume(secret)?.[1];
    return named === undefined
      ? { error: expectedError(text, at, 'the name of a secret, as in {{secret:name}},') }
      : { secret: named, end: at };
  }
  if (name !== 'ctx') return { error: `a path begins with ctx, and not with ${name}: write {{ctx.${name}}} if that is meant` };
  const path: (string | number)[] = [];
  for (;;) {
    const nameStep = consume(dotted)?.[1];
    if (nameStep !== undefined) {
      path.push(nameStep);
      continue;
    }
    const indexStep = consume(index)?.[1];
    if (indexStep !== undefined) {
      path.push(Number(indexStep));
      continue;
    }
    const literal = consume(quoted)?.[1];
    if (literal === undefined) break;
    const key = unquote(literal);
    if (key === undefined) return { error: `${literal} is not a key in quotes` };
    path.push(key);
  }
  consume(space);
  if (!text.startsWith('}}', at)) return { error: expectedError(text, at, 'a path such as {{ctx.order.lines[0]}} and then }}') };
  return { path, end: at + 2 };
}

const expectedError = (text: string, at: number, what: string): string =>
  `expected ${what}, and found ${at < text.length ? JSON.stringify(text.slice(at, at + 12)) : 'the end'} at character ${at + 1}; calls and arithmetic are not part of templates`;

/** How the two quotes, where they stand between single ones, are written between double ones. */
const inDoubleQuotes: ReadonlyMap<string, string> = new Map([
  ['"', String.raw`\"`],
  [String.raw`\'`, "'"],
]);

/** JSON's escapes between double quotes; between single quotes the same, and the quote itself escaped. */
const unquote = (literal: string): string | undefined => {
  const inner = literal.slice(1, -1);
  const json = literal.startsWith('"')
    ? literal
    : `"${inner.replaceAll(/\\.|"/gs, (found) => inDoubleQuotes.get(found) ?? found)}"`;
  try {
    const key: unknown = JSON.parse(json);
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
};
