/** Caches the texts of secrets in a warm function, because a read costs money and time. Missing texts are not cached. */
import { type DurationMs, type Instant, minutes } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Secrets } from '../../ports/secrets.ts';

/** A changed secret takes effect within this time. */
export const secretCacheTtlMs = minutes(5);

export class SecretCache {
  readonly #secrets: Secrets;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cached = new Map<string, { readonly text: string; readonly readAt: Instant }>();

  constructor(secrets: Secrets, clock: Pick<Clock, 'now'>) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** Undefined if the secret does not exist or has no text. */
  async text(arn: string): Promise<string | undefined> {
    const cached = this.#cached.get(arn);
    return cached !== undefined && this.#clock.now() - cached.readAt < secretCacheTtlMs ? cached.text : this.#read(arn);
  }

  /** Reads the secret again; undefined if the cached text is younger than `minAgeMs`. */
  async refreshIfOlder(arn: string, minAgeMs: DurationMs): Promise<{ readonly text: string | undefined } | undefined> {
    const cached = this.#cached.get(arn);
    if (cached !== undefined && this.#clock.now() - cached.readAt < minAgeMs) return undefined;
    return { text: await this.#read(arn) };
  }

  async #read(arn: string): Promise<string | undefined> {
    const text = await this.#secrets.value(arn);
    if (text === undefined) this.#cached.delete(arn);
    else this.#cached.set(arn, { text, readAt: this.#clock.now() });
    return text;
  }
}
