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
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return { $bytes: toBase64(value) };
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof StoredValue) return { $stored: value.content };
  if (Array.isArray(value)) return value.map((element: unknown) => encodeTagged(element) ?? null);
  const encoded: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const each: unknown = Reflect.get(value, key);
    if (each !== undefined) setOwn(encoded, key, encodeTagged(each));
  }
  return tagIn(encoded) === undefined ? encoded : { $object: encoded };
}

/** The value behind the tags. @throws MalformedTag if bytes are no base64 or a time is no time */
export const decodeTagged = (value: unknown, path: readonly (string | number)[] = []): TaggedValue =>
  new Decoder(path).decode(value);

/** The path to a value is needed for an error only, so one list grows and shrinks with the place. */
class Decoder {
  readonly #path: (string | number)[];

  constructor(path: readonly (string | number)[]) {
    this.#path = [...path];
  }

  decode(value: unknown): TaggedValue {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    if (typeof value !== 'object') throw this.#malformed('is not a JSON value');
    if (Array.isArray(value)) return this.#elements(value);
    const tag = tagIn(value);
    if (tag === undefined) return this.#properties(value);
    const content: unknown = Reflect.get(value, tag);
    switch (tag) {
      case '$bytes':
        return this.#bytes(content);
      case '$date':
        return this.#date(content);
      case '$stored':
        return this.#stored(content);
      case '$object':
        if (typeof content !== 'object' || content === null || Array.isArray(content))
          throw this.#malformed('is not an object', tag);
        return this.#inObject(content);
      default:
        return this.#properties(value);
    }
  }

  #inObject(content: object): TaggedValue {
    this.#path.push('$object');
    const decoded = this.#properties(content);
    this.#path.pop();
    return decoded;
  }

  #elements(values: readonly unknown[]): TaggedValue {
    const decoded: TaggedValue[] = [];
    for (const [index, each] of values.entries()) {
      this.#path.push(index);
      decoded.push(this.decode(each));
      this.#path.pop();
    }
    return decoded;
  }

  #properties(value: object): TaggedValue {
    const decoded: Record<string, TaggedValue> = {};
    for (const key of Object.keys(value)) {
      this.#path.push(key);
      setOwn(decoded, key, this.decode(Reflect.get(value, key)));
      this.#path.pop();
    }
    return decoded;
  }

  #bytes(content: unknown): Uint8Array {
    if (typeof content !== 'string' || !base64Pattern.test(content)) throw this.#malformed('is not base64', '$bytes');
    // A copy of its own: a Buffer may share its memory with others.
    return new Uint8Array(Buffer.from(content, 'base64'));
  }

  #date(content: unknown): Date {
    const date = typeof content === 'string' ? new Date(content) : undefined;
    if (date === undefined || Number.isNaN(date.getTime())) throw this.#malformed('is not a time in ISO 8601', '$date');
    return date;
  }

  #stored(content: unknown): StoredValue {
    if (typeof content !== 'object' || content === null) throw this.#malformed('is not an object', '$stored');
    const fields: Record<string, string | number> = {};
    for (const [name, field] of Object.entries(content)) {
      if (typeof field !== 'string' && typeof field !== 'number') throw this.#malformed('has a field of another type', '$stored');
      fields[name] = field;
    }
    return new StoredValue(fields);
  }

  #malformed(reason: string, ...place: readonly string[]): MalformedTag {
    return new MalformedTag(reason, [...this.#path, ...place]);
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

/** The only key of an object, if it begins with `$`. */
function tagIn(value: object): string | undefined {
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0]?.startsWith('$') === true ? keys[0] : undefined;
}

/** An assignment to `__proto__` would change the prototype. */
function setOwn<Value>(target: Record<string, Value>, key: string, value: Value): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
