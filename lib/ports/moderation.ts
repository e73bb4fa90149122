/** Whether a text may go to a model, or come from one. */
import type { JsonObject } from '../engine/json.ts';

export type ModerationPhase = 'input' | 'output';

export type Decision =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'blocked'; readonly policy?: string; readonly reason?: string; readonly metadata?: JsonObject }
  /** nobody could say: the caller goes no further */
  | { readonly kind: 'unavailable'; readonly message: string };

export interface Moderation {
  /** An empty text is allowed without asking. Rejects with the signal's reason when that aborts, and for nothing else. */
  check(phase: ModerationPhase, text: string, signal: AbortSignal): Promise<Decision>;
}
