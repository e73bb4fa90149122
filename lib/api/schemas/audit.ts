/** Schemas of the audit trail. */
import * as z from 'zod';
import { correlationId, cursor, jsonObject, keyId, limit, page, pageSize, runId, timestampInput, utcTimestamp } from './parts.ts';

const results = ['success', 'failure'] as const;

export const listAuditQuery = z.strictObject({
  limit: limit.default(pageSize.standard),
  cursor: cursor.exactOptional(),
  action: z.string().min(1).max(64).exactOptional(),
  result: z.enum(results).exactOptional(),
  keyId: keyId.exactOptional(),
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
    action: z.string(),
    resource: z.string(),
    result: z.enum(results),
    ip: z.string().exactOptional(),
    userAgent: z.string().exactOptional(),
    metadata: jsonObject,
  })
  .meta({ id: 'AuditEntry' });
export const auditList = page(auditEntry);
