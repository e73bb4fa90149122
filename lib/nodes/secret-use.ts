/** The secrets of one attempt: looked up when they are used, and remembered only to be taken out of what the attempt says. */
import { type SecretValues, secretsOf } from '../engine/graph/template.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type NamedText, SecretMask } from './secret-mask.ts';

/** What a project's list of secrets says to a name. */
export type SecretLookup =
  | { readonly kind: 'secret'; readonly text: string }
  /** the list does not have it, for this project and environment */
  | { readonly kind: 'not_allowed' }
  /** the list leads to a secret that does not exist, has no text, or not the key that is named */
  | { readonly kind: 'missing' };

/** Rejects where the secrets cannot be reached at the moment. */
export type ReadSecret = (name: string) => Promise<SecretLookup>;

export class SecretUse {
  readonly #read: ReadSecret;
  readonly #used: NamedText[] = [];

  constructor(read: ReadSecret) {
    this.#read = read;
  }

  /** Of all that have been looked up so far. */
  get mask(): SecretMask {
    return new SecretMask(this.#used);
  }

  /** More that must not be seen: a part of a secret, such as the password in a connection. */
  addRedaction(name: string, text: string): void {
    this.#used.push({ name, text });
  }

  /** Every secret that the value names, or why the node cannot have one of them. */
  async readNamedIn(value: JsonValue): Promise<{ readonly texts: SecretValues } | { readonly failure: Failure }> {
    const texts = new Map<string, string>();
    for (const name of new Set(secretsOf(value).map((found) => found.name))) {
      const lookup = await this.resolve(name);
      if ('failure' in lookup) return lookup;
      texts.set(name, lookup.text);
    }
    return { texts };
  }

  async resolve(name: string): Promise<{ readonly text: string } | { readonly failure: Failure }> {
    try {
      const lookup = await this.#read(name);
      if (lookup.kind !== 'secret') return { failure: refusalOf(name, lookup.kind) };
      this.addRedaction(name, lookup.text);
      return { text: lookup.text };
    } catch (error) {
      // Whose trouble it is stands in its name; its words may name what only the account's owner should see.
      const kind = error instanceof Error ? error.name : 'unknown';
      const message = `the secret ${name} could not be read now (${kind})`;
      return { failure: { cause: 'provider_error', code: 'secret_unavailable', message } };
    }
  }
}

const refusalOf = (name: string, kind: 'not_allowed' | 'missing'): Failure =>
  kind === 'not_allowed'
    ? {
        cause: 'forbidden',
        code: 'secret_not_allowed',
        message: `the setting "secrets" has no ${name} for this project and environment`,
      }
    : { cause: 'invalid', code: 'secret_missing', message: `the secret ${name} is allowed, and has no text` };
