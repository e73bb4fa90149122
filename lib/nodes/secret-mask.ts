/**
 * Takes secrets out of what is about to be stored or shown. Not only as they are written: whoever is asked may send back
 * what it was sent in one of the spellings that requests and JSON use. Other changes (hashes, slices, another case) it
 * cannot know.
 */
import type { Outcome } from '../engine/graph/outcome.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { RunResult } from './runner.ts';

/** Shorter ones would be found everywhere by accident, and are guessed sooner than read. */
const leastMaskedLength = 8;

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export class SecretMask {
  readonly #spellings: readonly NamedText[];

  constructor(secrets: Iterable<NamedText>) {
    const all = [...secrets].flatMap(({ name, text }) => [...spellingsOf(text)].map((spelling) => ({ name, text: spelling })));
    // The longest first: one secret may be a part of another.
    this.#spellings = all.toSorted((one, other) => other.text.length - one.text.length);
  }

  text(text: string): string {
    let masked = text;
    for (const { name, text: spelling } of this.#spellings) masked = masked.replaceAll(spelling, () => `[secret:${name}]`);
    return masked;
  }

  /** Keys of objects too. */
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
    return { ...rest, message: this.text(message), ...(details === undefined ? {} : { details: this.object(details) }) };
  }

  result({ outcome, printed }: RunResult): RunResult {
    return { outcome: this.#outcome(outcome), printed: printed.map((line) => this.text(line)) };
  }

  #outcome(outcome: Outcome): Outcome {
    if (outcome.kind === 'failed') return { ...outcome, failure: this.failure(outcome.failure) };
    if (!('output' in outcome) || !('value' in outcome.output)) return outcome;
    return { ...outcome, output: { value: this.value(outcome.output.value) } };
  }
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** The ways a text is written by those who hand it back. */
function spellingsOf(secret: string): ReadonlySet<string> {
  // Headers lose the space at their ends.
  const texts = [secret, secret.trim()].filter((text) => text.length >= leastMaskedLength);
  const spelled = texts.flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    new URLSearchParams([['', text]]).toString().slice(1),
    ...base64Of(text),
  ]);
  return new Set(spelled.filter((text) => text.length >= leastMaskedLength));
}

/**
 * What base64 makes of the text wherever it stands in what is encoded, as in `Authorization: Basic`: three ways, by its
 * place modulo 3, each without the letters that its neighbours have a part in.
 */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url');
    const first = Math.ceil((shift * 8) / 6);
    const last = Math.floor(((shift + bytes.length) * 8) / 6);
    const core = encoded.slice(first, last);
    return core.length < leastMaskedLength ? [] : [core, core.replaceAll('-', '+').replaceAll('_', '/')];
  });
}
