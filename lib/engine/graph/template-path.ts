/**
 * Parses one block of a template: `{{ctx.order.lines[0]["unit price"]}}`. A block only looks up a path: no calls, arithmetic or logic,
 * so a template needs no sandbox and its dependencies are visible in its text.
 */

/** The steps after `ctx`: a string is an object key, a number an array index. Empty: the whole context. */
export type Path = readonly (string | number)[];

export type ParsedPath =
  | { readonly path: Path; /** offset after the block */ readonly end: number }
  /** `{{secret:name}}`: not a value of the run, so no path may follow the name */
  | { readonly secret: string; readonly end: number }
  | { readonly error: string };

const space = /\s*/y;
const root = /[\p{ID_Start}_$][\p{ID_Continue}$]*/uy;
/** The pattern of `lib/engine/secret-name.ts`, and the end of the block. */
const secret = /:([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\s*\}\}/y;
const dotted = /\.([\p{ID_Start}_$][\p{ID_Continue}$]*|\d+)/uy;
const index = /\[\s*(\d{1,9})\s*\]/y;
/** The two alternatives begin differently and never overlap, so matching is linear. */
const quoted = /\[\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\]/sy;

/** @param start offset after the opening braces */
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
  if (name !== 'ctx') return { error: `a path begins with ctx, not with ${name}: write {{ctx.${name}}}` };
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
    if (key === undefined) return { error: `${literal} is not a valid quoted key` };
    path.push(key);
  }
  consume(space);
  if (!text.startsWith('}}', at))
    return { error: expectedError(text, at, 'a path such as {{ctx.order.lines[0]}} followed by }}') };
  return { path, end: at + 2 };
}

const expectedError = (text: string, at: number, what: string): string =>
  `expected ${what} but found ${at < text.length ? JSON.stringify(text.slice(at, at + 12)) : 'the end'} at character ${at + 1}; templates support neither calls nor arithmetic`;

/** Rewrites quotes of a single-quoted key for JSON's double quotes. */
const inDoubleQuotes: ReadonlyMap<string, string> = new Map([
  ['"', String.raw`\"`],
  [String.raw`\'`, "'"],
]);

/** JSON escapes in both kinds of quotes, plus the escaped quote itself. */
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
