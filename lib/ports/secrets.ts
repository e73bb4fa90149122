/** Secrets of an external store, each with an ARN. */

export interface Secrets {
  /** The current text; undefined if the secret does not exist or has no text yet. */
  value(arn: string): Promise<string | undefined>;
  /**
   * Sets a new text of an existing secret.
   * @param token idempotency token: repeating the same text with the same token changes nothing
   */
  setValue(arn: string, text: string, token: string): Promise<void>;
}
