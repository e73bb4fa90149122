/**
 * The secrets that webhooks are verified with, kept for a while by a warm function. Where none of them fits they are read
 * again, because one may have been changed; but not for every forgery: a look-up costs money and takes time.
 */
import { type Instant, minutes, seconds } from '../engine/time.ts';
import type { Secrets } from '../ports/secrets.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { secretsIn } from '../webhooks/secrets-in.ts';
import type { Deps } from './deps.ts';

const keptForMs = minutes(5);
/** A changed secret is taken up within this time, and whoever sends what nothing fits buys one look-up in it. */
const readAgainAfterMs = seconds(30);

interface Kept {
  readonly secrets: readonly string[];
  readonly readAt: Instant;
}

export class WebhookSecrets {
  readonly #secrets: Secrets;
  readonly #clock: Deps['clock'];
  readonly #kept = new Map<string, Kept>();

  constructor(secrets: Secrets, clock: Deps['clock']) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** @throws Unavailable where the secret has no text: the sender sends again, and somebody may have set it by then */
  async of(arn: string): Promise<readonly string[]> {
    const kept = this.#kept.get(arn);
    return kept !== undefined && this.#clock.now() - kept.readAt < keptForMs ? kept.secrets : this.#read(arn);
  }

  /** After a mismatch: the secrets as they are now, or undefined where they have been read only just. */
  async again(arn: string): Promise<readonly string[] | undefined> {
    const kept = this.#kept.get(arn);
    return kept !== undefined && this.#clock.now() - kept.readAt < readAgainAfterMs ? undefined : this.#read(arn);
  }

  async #read(arn: string): Promise<readonly string[]> {
    const text = await this.#secrets.value(arn);
    const secrets = text === undefined ? [] : secretsIn(text);
    if (secrets.length === 0) throw new Unavailable(`the secret ${arn}, which has no text`);
    this.#kept.set(arn, { secrets, readAt: this.#clock.now() });
    return secrets;
  }
}
