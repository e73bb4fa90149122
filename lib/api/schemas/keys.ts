/** Schemas of keys and of the audit trail. */
import * as z from 'zod';
import { keyScopes } from '../../ports/control.ts';
import {
  correlationId,
  cursor,
  environment,
  jsonObject,
  keyId,
  limit,
  page,
  projectId,
  runId,
  timestampInput,
  utcTimestamp,
  pageSize,
} from './parts.ts';

/** A week: long enough for all deployments of a caller to use the new key. */
export const maxOverlapSeconds = 604_800;
export const defaultOverlapSeconds = 86_400;

export const createKeyBody = z
  .strictObject({
    projectId: projectId.exactOptional(),
    environment: environment.exactOptional(),
    scopes: z.array(z.enum(keyScopes)).min(1).max(keyScopes.length),
    expiresAt: timestampInput.exactOptional(),
    rateLimitPerMinute: z.int().min(1).nullable().exactOptional().meta({ description: 'null: no limit; absent: the default' }),
  })
  .meta({ id: 'CreateKey' });

export const keyParams = z.strictObject({ keyId });
export const listKeysQuery = z.strictObject({ limit: limit.default(pageSize.standard), cursor: cursor.exactOptional() });
export const rotateKeyBody = z
  .strictObject({ overlapSeconds: z.int().min(0).max(maxOverlapSeconds).default(defaultOverlapSeconds) })
  .meta({ id: 'RotateKey' });

const keyFields = {
  projectId: z.string(),
  environment: z.string(),
  scopes: z.array(z.enum(keyScopes)).readonly(),
  createdAt: utcTimestamp,
  expiresAt: utcTimestamp.exactOptional(),
  rateLimitPerMinute: z.int().nullable().exactOptional(),
};
const secret = { keyId: z.string(), key: z.string().meta({ description: 'returned only once' }) };

export const createdKeyResponse = z.strictObject({ ...secret, ...keyFields });
export const rotatedKeyResponse = z.strictObject({
  ...secret,
  ...keyFields,
  replaces: z.strictObject({ keyId: z.string(), expiresAt: utcTimestamp }),
});
export const revokedKeyResponse = z.strictObject({ keyId: z.string(), revokedAt: utcTimestamp });

const keySummary = z
  .strictObject({
    keyId: z.string(),
    ...keyFields,
    revokedAt: utcTimestamp.exactOptional(),
    lastUsedAt: utcTimestamp.exactOptional().meta({ description: 'the hour in which it was last used' }),
    replacedBy: z.string().exactOptional().meta({ description: 'the key that replaced it by rotation' }),
  })
  .meta({ id: 'KeySummary' });
export const keyList = page(keySummary);

const results = ['success', 'failure'] as const;

export const listAuditQuery = z.strictObject({
  limit: limit.default(pageSize.standard),
  cursor: cursor.exactOptional(),
  action: z.string().min(1).max(64).exactOptional(),
  result: z.enum(results).exactOptional(),
  keyId: keyId.exactOptional(),
  subject: z
    .string()
    .min(1)
    .max(210)
    .exactOptional()
    .meta({ description: 'of the session: `key:` and the id of a key, or `oidc:` and the name of a person' }),
  runId: runId.exactOptional(),
  correlationId: correlationId.exactOptional(),
  since: timestampInput.exactOptional().meta({ description: 'at or after' }),
  until: timestampInput.exactOptional().meta({ description: 'before' }),
});

const auditEntry = z
  .strictObject({
    id: z.string(),
    at: utcTimestamp,
    keyId: z.string().nullable(),
    session: z
      .strictObject({ id: z.string(), subject: z.string() })
      .exactOptional()
      .meta({ description: 'the session of the signed-in person; absent: a program sent the key' }),
    action: z.string(),
    resource: z.string(),
    result: z.enum(results),
    ip: z.string().exactOptional(),
    userAgent: z.string().exactOptional(),
    metadata: jsonObject,
  })
  .meta({ id: 'AuditEntry' });
export const auditList = page(auditEntry);
