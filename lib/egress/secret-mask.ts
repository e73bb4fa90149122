/**
 * Masks secrets in values that are stored or shown. A server may return a secret in another encoding, so the mask also finds the
 * encodings of requests and JSON (escaped, URL-encoded, base64). It cannot find other changes, such as hashes, slices or another case.
 */
import { defined } from '../base/defined.ts';
import type { Outcome } from '../engine/graph/outcome.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure, Gate } from '../engine/log/events.ts';

/** Shorter secrets are not masked, because they match unrelated text. */
export const minMaskedLength = 8;

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** What an attempt produced and the log stores. */
interface AttemptResult {
  readonly outcome: Outcome;
  readonly printed: readonly string[];
}

export class SecretMask {
  readonly #spellings: readonly NamedText[];
  readonly #maxSpellingLength: number;

  constructor(secrets: Iterable<NamedText>) {
    const all = [...secrets].flatMap(({ name, text }) => [...spellingsOf(text)].map((spelling) => ({ name, text: spelling })));
    // Longest first, because one secret may contain another.
    this.#spellings = all.toSorted((one, other) => other.text.length - one.text.length);
    this.#maxSpellingLength = this.#spellings[0]?.text.length ?? 0;
  }

  text(text: string): string {
    let masked = text;
    for (const { name, text: spelling } of this.#spellings) masked = masked.replaceAll(spelling, () => `[secret:${name}]`);
    return masked;
  }

  /** Masks keys of objects too. */
  value(value: JsonValue): JsonValue {
    if (this.#spellings.length === 0) return value;
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number') return this.text(String(value)) === String(value) ? value : this.text(String(value));
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    return typeof value === 'object' && value !== null && !isArray(value) ? this.object(value) : value;
  }

  object(object: JsonObject): JsonObject {
    if (this.#spellings.length === 0) return object;
    return Object.fromEntries(Object.entries(object).map(([key, value]) => [this.text(key), this.value(value)]));
  }

  failure(failure: Failure): Failure {
    const { details, message, ...rest } = failure;
    return defined({ ...rest, message: this.text(message), details: details === undefined ? undefined : this.object(details) });
  }

  result({ outcome, printed }: AttemptResult): AttemptResult {
    return { outcome: this.#outcome(outcome), printed: printed.map((line) => this.text(line)) };
  }

  /**
   * The index at which unfinished text can be split: the part before it contains only complete secrets. It is the length of the
   * text when its end does not start a secret.
   */
  safeSplitIndex(text: string): number {
    let splitIndex = text.length - this.#partialSecretLength(text);
    if (splitIndex === text.length) return splitIndex;
    // A complete secret across the border stays with the later part.
    for (const { text: spelling } of this.#spellings) {
      const start = text.indexOf(spelling, Math.max(0, splitIndex - spelling.length + 1));
      if (start !== -1 && start < splitIndex) splitIndex = start;
    }
    return splitIndex;
  }

  /** The length of the longest end of the text that starts a secret. */
  #partialSecretLength(text: string): number {
    for (let length = Math.min(text.length, this.#maxSpellingLength); length > 0; length -= 1) {
      const end = text.slice(-length);
      if (this.#spellings.some(({ text: spelling }) => spelling.length > length && spelling.startsWith(end))) return length;
    }
    return 0;
  }

  #gate(gate: Gate): Gate {
    return gate.kind === 'contract'
      ? { ...gate, errors: gate.errors.map((error) => this.object(error)) }
      : { ...gate, decision: this.object(gate.decision) };
  }

  #outcome(outcome: Outcome): Outcome {
    if (outcome.kind === 'failed') {
      const { gate } = outcome;
      return { ...outcome, failure: this.failure(outcome.failure), ...(gate === undefined ? {} : { gate: this.#gate(gate) }) };
    }
    if (!('output' in outcome) || !('value' in outcome.output)) return outcome;
    return { ...outcome, output: { value: this.value(outcome.output.value) } };
  }
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** The encodings in which servers return a text. */
function spellingsOf(secret: string): ReadonlySet<string> {
  // HTTP headers are trimmed.
  const texts = [secret, secret.trim()].filter((text) => text.length >= minMaskedLength);
  const candidates = texts.flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    new URLSearchParams([['', text]]).toString().slice(1),
    ...base64Of(text),
  ]);
  return new Set(candidates.filter((text) => text.length >= minMaskedLength));
}

/**
 * The base64 forms of a text inside a larger encoded text, as in `Authorization: Basic`. There are three, by its offset modulo 3,
 * each without the characters that also encode neighbouring bytes.
 */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url');
    const first = Math.ceil((shift * 8) / 6);
    const last = Math.floor(((shift + bytes.length) * 8) / 6);
    const core = encoded.slice(first, last);
    return core.length < minMaskedLength ? [] : [core, core.replaceAll('-', '+').replaceAll('_', '/')];
  });
}

/** Limit in UTF-16 units. Only text that repeats the start of a secret many times can reach it. */
const maxPending = 65_536;

/** Masks secrets in streamed text, also across chunk borders: text that may start a secret waits for the next chunk. */
export class MaskingStreamWriter {
  readonly #mask: () => SecretMask;
  readonly #append: (text: string) => void;
  #pending = '';

  /** @param mask read for each chunk, because an attempt may resolve further secrets */
  constructor(mask: () => SecretMask, append: (text: string) => void) {
    this.#mask = mask;
    this.#append = append;
  }

  append(part: string): void {
    const mask = this.#mask();
    const text = this.#pending + part;
    const splitIndex = text.length > maxPending ? text.length : mask.safeSplitIndex(text);
    this.#emit(mask, text.slice(0, splitIndex));
    this.#pending = text.slice(splitIndex);
  }

  /** Flushes the pending text. */
  end(): void {
    this.#emit(this.#mask(), this.#pending);
    this.#pending = '';
  }

  #emit(mask: SecretMask, text: string): void {
    if (text !== '') this.#append(mask.text(text));
  }
}
