/** Whether a key works. */
import type { KeySummary } from '../api.ts';

export type KeyState = 'active' | 'expired' | 'revoked';

/** @param now epoch ms */
export function stateOf({ revokedAt, expiresAt }: Pick<KeySummary, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? 'expired' : 'active';
}
