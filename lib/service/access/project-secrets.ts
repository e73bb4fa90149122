/** Secrets for the nodes of a project. A configured list maps names to ARNs; a node can read only the secrets in that list. */
import type { Scope } from '../../engine/ids.ts';
import type { SecretCache } from './secret-cache.ts';
import { type NamedByScope, findNamedValue } from './find-named-value.ts';

/** By project, then by environment or `*`, then by name: the ARN of a secret, optionally followed by `#` and a key of its JSON. */
export type SecretList = NamedByScope<string>;

export type SecretResult =
  | { readonly kind: 'secret'; readonly text: string }
  | { readonly kind: 'not_allowed' }
  | { readonly kind: 'missing' };

export class ProjectSecrets {
  readonly #cache: SecretCache;
  readonly #list: () => Promise<SecretList>;

  constructor(cache: SecretCache, list: () => Promise<SecretList>) {
    this.#cache = cache;
    this.#list = list;
  }

  /** @throws Unavailable if the secret store cannot be read now */
  async of(scope: Scope, name: string): Promise<SecretResult> {
    const reference = findNamedValue(await this.#list(), scope, name);
    if (reference === undefined) return { kind: 'not_allowed' };
    const { arn, key } = splitReference(reference);
    const secretText = await this.#cache.text(arn);
    const text = key === undefined || secretText === undefined ? secretText : valueUnder(secretText, key);
    return text === undefined || text === '' ? { kind: 'missing' } : { kind: 'secret', text };
  }
}

/** The ARN of a secret never contains `#`. */
function splitReference(reference: string): { readonly arn: string; readonly key: string | undefined } {
  const at = reference.indexOf('#');
  return at === -1 ? { arn: reference, key: undefined } : { arn: reference.slice(0, at), key: reference.slice(at + 1) };
}

function valueUnder(text: string, key: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    const found: unknown = Reflect.get(value, key);
    return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
  } catch {
    return undefined;
  }
}
