/** Secrets that are kept elsewhere, each under an ARN. */

export interface Secrets {
  /** The text that counts now; undefined where the secret does not exist or has none yet. */
  value(arn: string): Promise<string | undefined>;
  /**
   * Gives a secret that exists a new text.
   * @param token tells one request from another: the same text under the same token once more changes nothing
   */
  setValue(arn: string, text: string, token: string): Promise<void>;
}
