/**
 * The secrets that webhooks are verified with, kept for a while by a warm function. Where none of them fits they are read
 * again, because one may have been changed; but not for every forgery: a look-up costs money and takes time.
 */
import { seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { secretsIn } from '../../webhooks/secrets-in.ts';
import type { SecretCache } from './secret-cache.ts';

/** A changed secret is taken up within this time, and whoever sends what nothing fits buys one look-up in it. */
const minRefreshIntervalMs = seconds(30);

export class WebhookSecrets {
  readonly #cache: SecretCache;

  constructor(cache: SecretCache) {
    this.#cache = cache;
  }

  /** @throws Unavailable where the secret has no text: the sender sends again, and somebody may have set it by then */
  async of(arn: string): Promise<readonly string[]> {
    return parseSecrets(arn, await this.#cache.text(arn));
  }

  /** After a mismatch: the secrets as they are now, or undefined where they have been read only just. */
  async refresh(arn: string): Promise<readonly string[] | undefined> {
    const refreshed = await this.#cache.refreshIfOlder(arn, minRefreshIntervalMs);
    return refreshed === undefined ? undefined : parseSecrets(arn, refreshed.text);
  }
}

const parseSecrets = (arn: string, text: string | undefined): readonly string[] => {
  const secrets = text === undefined ? [] : secretsIn(text);
  if (secrets.length === 0) throw new Unavailable(`the secret ${arn}, which has no text`);
  return secrets;
};
