/** The secrets of one attempt: resolved on use, and remembered to mask them in the attempt's results. */
import { type SecretValues, secretsOf } from '../engine/graph/template.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type NamedText, SecretMask } from '../egress/secret-mask.ts';

/** The result of a lookup in a project's list of secrets. */
export type SecretLookup =
  | { readonly kind: 'secret'; readonly text: string }
  /** the setting has no such secret for this project and environment */
  | { readonly kind: 'not_allowed' }
  /** the secret does not exist, is empty, or lacks the named key */
  | { readonly kind: 'missing' };

/** Rejects when secrets cannot be read now. */
export type ReadSecret = (name: string) => Promise<SecretLookup>;

export class SecretUse {
  readonly #read: ReadSecret;
  readonly #used: NamedText[] = [];

  constructor(read: ReadSecret) {
    this.#read = read;
  }

  /** A mask of all secrets resolved so far. */
  get mask(): SecretMask {
    return new SecretMask(this.#used);
  }

  /** Masks another text too: a part of a secret, such as the password of a connection. */
  addRedaction(name: string, text: string): void {
    this.#used.push({ name, text });
  }

  /** Resolves every secret that the value names, or returns the failure of the first one that cannot be used. */
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
      // Only the error's name is reported: its message may contain ARNs of the account.
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
    : { cause: 'invalid', code: 'secret_missing', message: `the secret ${name} is allowed, but empty or missing` };
