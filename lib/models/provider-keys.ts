/** API keys of providers, read from where they are kept when they are needed, and kept for a while by a warm function. */
import { type Instant, minutes } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Secrets } from '../ports/secrets.ts';
import { Unavailable } from '../ports/unavailable.ts';

const cacheMs = minutes(5);

export class ProviderKeys {
  readonly #secrets: Pick<Secrets, 'value'>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cache = new Map<string, { readonly key: string; readonly readAt: Instant }>();

  constructor(secrets: Pick<Secrets, 'value'>, clock: Pick<Clock, 'now'>) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** @throws Unavailable where the secret has no text: somebody may have set it when the message comes again */
  async of(arn: string): Promise<string> {
    const cached = this.#cache.get(arn);
    if (cached !== undefined && this.#clock.now() - cached.readAt < cacheMs) return cached.key;
    const key = (await this.#secrets.value(arn))?.trim();
    if (key === undefined || key === '') throw new Unavailable(`the secret ${arn}, which has no text`);
    this.#cache.set(arn, { key, readAt: this.#clock.now() });
    return key;
  }

  /** It was refused: the next attempt reads it anew, for it may have been changed. */
  forget(arn: string): void {
    this.#cache.delete(arn);
  }
}
