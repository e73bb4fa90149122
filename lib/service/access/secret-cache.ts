/** Texts of secrets, kept for a while by a warm function: a look-up costs money and takes time. A text that is not there yet is not kept. */
import { type DurationMs, type Instant, minutes } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Secrets } from '../../ports/secrets.ts';

/** A changed secret is taken up within this time. */
const cacheTtlMs = minutes(5);

export class SecretCache {
  readonly #secrets: Secrets;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cached = new Map<string, { readonly text: string; readonly readAt: Instant }>();

  constructor(secrets: Secrets, clock: Pick<Clock, 'now'>) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** Undefined where the secret does not exist or has no text. */
  async text(arn: string): Promise<string | undefined> {
    const cached = this.#cached.get(arn);
    return cached !== undefined && this.#clock.now() - cached.readAt < cacheTtlMs ? cached.text : this.#read(arn);
  }

  /** As it is now, or undefined where it was read less than so long ago. */
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
