/** Secrets in memory. */
import type { Secrets } from '../ports/secrets.ts';

export class MemorySecrets implements Secrets {
  readonly #texts = new Map<string, string | undefined>();

  async value(arn: string): Promise<string | undefined> {
    return this.#texts.get(arn);
  }

  async setValue(arn: string, text: string): Promise<void> {
    if (!this.#texts.has(arn)) throw new Error(`secret ${arn} does not exist`);
    this.#texts.set(arn, text);
  }

  /** Creates a secret, with or without a text. */
  create(arn: string, text?: string): void {
    this.#texts.set(arn, text);
  }
}
