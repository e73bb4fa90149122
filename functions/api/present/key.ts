/** API keys as answers show them: nothing of the secret, and nothing of its digest. */
import { defined } from '../../../lib/engine/defined.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { ApiKey } from '../../../lib/ports/control.ts';
import { times } from './times.ts';

const termsOf = ({ projectId, environment, scopes, createdAt, expiresAt, rateLimitPerMinute }: ApiKey) =>
  defined({
    projectId,
    environment,
    scopes,
    createdAt: iso(createdAt),
    ...times({ expiresAt }),
    rateLimitPerMinute,
  });

export const keySummaryOf = (key: ApiKey) =>
  defined({
    keyId: key.keyId,
    ...termsOf(key),
    ...times({ revokedAt: key.revokedAt, lastUsedAt: key.lastUsedAt }),
    replacedBy: key.replacedBy,
  });

/** @param text the key itself, for the one answer that tells it */
export const newKeyOf = (key: ApiKey, text: string) => ({ keyId: key.keyId, key: text, ...termsOf(key) });
