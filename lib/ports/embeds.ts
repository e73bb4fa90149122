/** The port of embeds: tokens with which pages of other sites show the status of one run or workflow. Only digests are stored. */
import type { WorkflowName, EmbedId, KeyId, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export type EmbedTarget =
  | { readonly kind: 'run'; readonly runId: RunId }
  /** its newest run */
  | { readonly kind: 'workflow'; readonly workflowName: WorkflowName };

export interface Embed extends Scope {
  readonly id: EmbedId;
  /** SHA-256 of the token, in hex */
  readonly digest: string;
  readonly target: EmbedTarget;
  /** of the pages that may frame it */
  readonly origins: readonly string[];
  readonly createdAt: Instant;
  /** the time from which it is invalid */
  readonly expiresAt: Instant;
  /** the key that created it, or whose session did; its views are counted with that key */
  readonly keyId: KeyId;
}

export interface Embeds {
  /** Lists it before it can be used, so that every usable embed is listed. */
  put(embed: Embed): Promise<void>;
  /** Strongly consistent: a deleted embed is not returned. */
  embed(digest: string): Promise<Embed | undefined>;
  /** Of a scope, oldest first. */
  list(scope: Scope): Promise<readonly Embed[]>;
  /** Returns the deleted embed; undefined if the scope has none of this id. It cannot be used after that. */
  delete(scope: Scope, id: EmbedId): Promise<Embed | undefined>;
}
