/**
 * Caches the secrets that verify webhooks. If no secret matches, they are read again, because a secret may have changed. The reads
 * are rate-limited, because each costs money and time and a forged webhook also causes one.
 */
import { seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { secretsIn } from '../../webhooks/provider.ts';
import type { SecretCache } from './secret-cache.ts';

/** A changed secret takes effect within this time. Forged webhooks cause at most one read in it. */
const minRefreshIntervalMs = seconds(30);

export class WebhookSecrets {
  readonly #cache: SecretCache;

  constructor(cache: SecretCache) {
    this.#cache = cache;
  }

  /** @throws Unavailable if the secret has no text; the sender retries, and the owner may set the secret meanwhile */
  async of(arn: string): Promise<readonly string[]> {
    return parseSecrets(arn, await this.#cache.text(arn));
  }

  /** Reads the secrets again after a mismatch; undefined if they were read very recently. */
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
