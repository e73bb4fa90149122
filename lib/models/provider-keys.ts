/** API keys of model providers, read from Secrets Manager on demand and cached in the warm function. */
import { type Instant, minutes } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Secrets } from '../ports/secrets.ts';
import { Unavailable } from '../ports/unavailable.ts';

export const providerKeyCacheMs = minutes(5);

export class ProviderKeys {
  readonly #secrets: Pick<Secrets, 'value'>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cache = new Map<string, { readonly key: string; readonly readAt: Instant }>();

  constructor(secrets: Pick<Secrets, 'value'>, clock: Pick<Clock, 'now'>) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** @throws Unavailable when the secret is empty: it may be set before the message is redelivered */
  async of(arn: string): Promise<string> {
    const cached = this.#cache.get(arn);
    if (cached !== undefined && this.#clock.now() - cached.readAt < providerKeyCacheMs) return cached.key;
    const key = (await this.#secrets.value(arn))?.trim();
    if (key === undefined || key === '') throw new Unavailable(`the secret ${arn}: it is empty`);
    this.#cache.set(arn, { key, readAt: this.#clock.now() });
    return key;
  }

  /** The provider rejected the key. The next attempt reads it again, because it may have been rotated. */
  forget(arn: string): void {
    this.#cache.delete(arn);
  }
}
