/**
 * JSON with bytes and times: the bodies of the World routes and of its messages. Bytes are `{ "$bytes": "<base64>" }`, a time is
 * `{ "$date": "<ISO 8601>" }`, a value elsewhere is `{ "$stored": {…} }`, and an object whose only key begins with `$` is `{ "$object": {…} }`, so that no value of a caller is
 * mistaken for a tag. Plain JSON without such objects means itself.
 */
export type TaggedValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | Date
  | StoredValue
  | readonly TaggedValue[]
  | { readonly [key: string]: TaggedValue };

/** A value that is too large for a request or an answer: what a client has uploaded, or where it gets the value. */
export class StoredValue {
  readonly content: Readonly<Record<string, string | number>>;

  constructor(content: Readonly<Record<string, string | number>>) {
    this.content = content;
  }
}

/** The value as plain JSON. Properties that are undefined are left out, as `JSON.stringify` does. */
export function encodeTagged(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: toBase64(value) };
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof StoredValue) return { $stored: value.content };
  if (Array.isArray(value)) return value.map((element: unknown) => encodeTagged(element) ?? null);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const encoded = Object.fromEntries(entries.map(([key, each]) => [key, encodeTagged(each)]));
  return hasTagShape(entries) ? { $object: encoded } : encoded;
}

/** The value behind the tags. @throws MalformedTag if bytes are no base64 or a time is no time */
export function decodeTagged(value: unknown, path: readonly (string | number)[] = []): TaggedValue {
  if (Array.isArray(value)) return value.map((element: unknown, index) => decodeTagged(element, [...path, index]));
  if (typeof value !== 'object') return decodeScalar(value, path);
  if (value === null) return null;
  const entries = Object.entries(value);
  const [only] = entries;
  if (!hasTagShape(entries) || only === undefined) return decodeEntries(entries, path);
  const [tag, content] = only;
  switch (tag) {
    case '$bytes':
      return decodeBytes(content, [...path, tag]);
    case '$date':
      return decodeDate(content, [...path, tag]);
    case '$stored':
      return decodeStored(content, [...path, tag]);
    case '$object':
      if (typeof content !== 'object' || content === null || Array.isArray(content))
        throw new MalformedTag('is not an object', [...path, tag]);
      return decodeEntries(Object.entries(content), [...path, tag]);
    default:
      return decodeEntries(entries, path);
  }
}

/** A tag whose content does not fit it. */
export class MalformedTag extends Error {
  readonly path: readonly (string | number)[];

  /** @param reason the end of a sentence that begins with the value's name */
  constructor(reason: string, path: readonly (string | number)[]) {
    super(reason);
    this.name = 'MalformedTag';
    this.path = path;
  }
}

const hasTagShape = (entries: readonly (readonly [string, unknown])[]): boolean =>
  entries.length === 1 && entries[0]?.[0].startsWith('$') === true;

const decodeEntries = (entries: readonly (readonly [string, unknown])[], path: readonly (string | number)[]): TaggedValue =>
  Object.fromEntries(entries.map(([key, each]) => [key, decodeTagged(each, [...path, key])]));

function decodeScalar(value: unknown, path: readonly (string | number)[]): TaggedValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new MalformedTag('is not a JSON value', path);
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decodeBytes(content: unknown, path: readonly (string | number)[]): Uint8Array {
  if (typeof content !== 'string' || !base64Pattern.test(content)) throw new MalformedTag('is not base64', path);
  // A copy of its own: a Buffer may share its memory with others.
  return new Uint8Array(Buffer.from(content, 'base64'));
}

function decodeDate(content: unknown, path: readonly (string | number)[]): Date {
  const date = typeof content === 'string' ? new Date(content) : undefined;
  if (date === undefined || Number.isNaN(date.getTime())) throw new MalformedTag('is not a time in ISO 8601', path);
  return date;
}

function decodeStored(content: unknown, path: readonly (string | number)[]): StoredValue {
  if (typeof content !== 'object' || content === null) throw new MalformedTag('is not an object', path);
  const fields: Record<string, string | number> = {};
  for (const [name, field] of Object.entries(content)) {
    if (typeof field !== 'string' && typeof field !== 'number') throw new MalformedTag('has a field of another type', path);
    fields[name] = field;
  }
  return new StoredValue(fields);
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
