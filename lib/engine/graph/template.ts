/**
 * Templates. `{{ctx.path}}` alone keeps the type of its value, or null if there is none. Inside text, every block becomes text: objects
 * and arrays as JSON, null and missing values as ''. Only own keys are found, so `ctx.constructor` is what a node wrote there, or
 * nothing. There is no escape for `{{` itself.
 * `{{secret:name}}` inserts a secret where the node type allows it. Secrets are not part of the context, and a looked-up value is never
 * parsed as a template, so no value of a run can name one.
 */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject, childAt } from '../json.ts';
import type { ContextView } from './context.ts';
import { jsonPointer } from './findings.ts';
import { type NodeWork, withinConfigPath } from './work-limits.ts';

type Part = { readonly text: string } | { readonly path: Path } | { readonly secret: string };
export interface ParsedTemplate {
  readonly parts: readonly Part[];
}

export function parseTemplate(text: string): ParsedTemplate | { readonly error: string } {
  const parts: Part[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    const between = text.slice(at, open === -1 ? text.length : open);
    if (between !== '') parts.push({ text: between });
    if (open === -1) return { parts };
    const parsedPath = parsePath(text, open + 2);
    if ('error' in parsedPath) return parsedPath;
    parts.push('secret' in parsedPath ? { secret: parsedPath.secret } : { path: parsedPath.path });
    at = parsedPath.end;
  }
}

/**
 * Resolves every template in the value, through arrays and objects; keys of objects are not templates. Invalid templates, which
 * validation reports, stay unchanged, and so do texts that name a secret without a value.
 * Throws `PayloadsNeeded` like the context, and `WorkLimitExceeded` or `DecisionLimitReached` like the work counter.
 */
export function resolveTemplate(value: JsonValue, context: ContextView, secrets: SecretValues = noSecrets): JsonValue {
  if (typeof value === 'string') return resolveText(value, context, secrets);
  if (isJsonArray(value))
    return value.map((item, index) => withinConfigPath(index, () => resolveTemplate(item, context, secrets)));
  if (isJsonObject(value))
    return mapValues(value, (item, key) => withinConfigPath(key, () => resolveTemplate(item, context, secrets)));
  return value;
}

/** Secrets by name, loaded at the time of use. */
export type SecretValues = ReadonlyMap<string, string>;
const noSecrets: SecretValues = new Map();

function resolveText(text: string, context: ContextView, secrets: SecretValues): JsonValue {
  if (!text.includes('{{')) return text;
  const parsed = parseTemplate(text);
  if ('error' in parsed || parsed.parts.some((part) => 'secret' in part && !secrets.has(part.secret))) return text;
  const [first, ...others] = parsed.parts;
  if (first !== undefined && 'path' in first && others.length === 0) return lookUp(first.path, context) ?? null;
  // Counted before the text is made: the same large value may be looked up many times.
  const texts = parsed.parts.map((part) => {
    if ('path' in part) return countedText(lookUp(part.path, context), context.work);
    const partText = 'text' in part ? part.text : (secrets.get(part.secret) ?? '');
    context.work.text(partText.length);
    return partText;
  });
  return texts.join('');
}

/** The text of a value, counted against the node's limit. */
export function countedText(value: JsonValue | undefined, work: NodeWork): string {
  work.value(value);
  return asText(value);
}

/** The text form of a value. */
export const asText = (value: JsonValue | undefined): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** The value at the path, or undefined. Arrays have indexes only: `length` is not found. */
export function lookUp(path: Path, context: ContextView): JsonValue | undefined {
  const [key, ...steps] = path;
  let value: JsonValue | undefined = key === undefined ? allOf(context) : context.get(String(key));
  for (const step of steps) value = childAt(value, step);
  return value;
}

function allOf(context: ContextView): JsonValue {
  context.work.addComparisons(context.keys().length * costPerKey);
  return context.all();
}

/** Finding one key among all written keys takes half a microsecond. */
const costPerKey = 20;

/** Every invalid template in the value, with a JSON pointer relative to the value. */
export const templateErrorsOf = (value: JsonValue): readonly { readonly pointer: string; readonly message: string }[] =>
  [...textsOf(value, '')].flatMap(({ pointer, text }) => {
    const parsed = parseTemplate(text);
    return 'error' in parsed ? [{ pointer, message: parsed.error }] : [];
  });

/** Every secret named by a valid template in the value, with repetitions. */
export const secretsOf = (value: JsonValue): readonly { readonly pointer: string; readonly name: string }[] =>
  [...textsOf(value, '')].flatMap(({ pointer, text }) => {
    const parsed = parseTemplate(text);
    return 'error' in parsed ? [] : parsed.parts.flatMap((part) => ('secret' in part ? [{ pointer, name: part.secret }] : []));
  });

/** Every context name that a valid template in the value reads, once for each text, with a JSON pointer relative to the value. */
export const namesReadBy = (value: JsonValue): readonly { readonly pointer: string; readonly name: string }[] =>
  [...textsOf(value, '')].flatMap(({ pointer, text }) => {
    const names = pathsOf(text).flatMap(([name]) => (name === undefined ? [] : [String(name)]));
    return [...new Set(names)].map((name) => ({ pointer, name }));
  });

/** Every path looked up by a valid template in the value, with repetitions. */
export const pathsOf = (value: JsonValue): readonly Path[] =>
  [...textsOf(value, '')].flatMap(({ text }) => {
    const parsed = parseTemplate(text);
    return 'error' in parsed ? [] : parsed.parts.flatMap((part) => ('path' in part ? [part.path] : []));
  });

/** Whether resolving this value looks anything up. */
export const isTemplate = (value: JsonValue | undefined): boolean => value !== undefined && pathsOf(value).length > 0;

function* textsOf(value: JsonValue, pointer: string): Generator<{ readonly pointer: string; readonly text: string }> {
  if (typeof value === 'string') yield { pointer, text: value };
  else if (isJsonArray(value)) for (const [index, item] of value.entries()) yield* textsOf(item, pointer + jsonPointer(index));
  else if (isJsonObject(value)) for (const [key, item] of Object.entries(value)) yield* textsOf(item, pointer + jsonPointer(key));
}

/** `fromEntries` defines own keys, `__proto__` included, where an assignment would call a setter. */
const mapValues = (object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));

/** The steps after `ctx`: a string is an object key, a number an array index. Empty: the whole context. */
export type Path = readonly (string | number)[];

type ParsedPath =
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

const maxShownPath = 100;

/** @param rest the text after the name */
function rootError(name: string, rest: string): string {
  const problem = `a path begins with ctx, not with ${name}`;
  if (name !== 'input')
    return `${problem}: {{ctx.input}} is the input of the run, and {{ctx.name}} the output of the node with the outputVariable name`;
  const end = rest.indexOf('}}');
  const path = end === -1 || end > maxShownPath ? '' : rest.slice(0, end).trimEnd();
  return `${problem}: write {{ctx.input${path}}}`;
}

/**
 * Parses one block: `{{ctx.order.lines[0]["unit price"]}}`. A block only looks up a path: no calls, arithmetic or logic, so a template
 * needs no sandbox and its dependencies are visible in its text.
 * @param start offset after the opening braces
 */
function parsePath(text: string, start: number): ParsedPath {
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
  if (name !== 'ctx') return { error: rootError(name, text.slice(at)) };
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
