/** Moderation: decides whether a text may be sent to a model or returned from one. */
import type { JsonObject } from '../engine/json.ts';

export type ModerationPhase = 'input' | 'output';

export type Decision =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'blocked'; readonly policy?: string; readonly reason?: string; readonly metadata?: JsonObject }
  /** no decision; the caller must not continue */
  | { readonly kind: 'unavailable'; readonly message: string };

export interface Moderation {
  /** An empty text is allowed without a request. Rejects only with the abort reason of the signal. */
  check(phase: ModerationPhase, text: string, signal: AbortSignal): Promise<Decision>;
}
