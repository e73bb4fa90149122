/** What was done, by whom, and how it ended. */
import * as z from 'zod';
import { correlationId, cursor, jsonObject, keyId, limit, moment, page, runId, time } from './parts.ts';

const results = ['success', 'failure'] as const;

export const listAuditQuery = z.strictObject({
  limit: limit.default(50),
  cursor: cursor.exactOptional(),
  action: z.string().min(1).max(64).exactOptional(),
  result: z.enum(results).exactOptional(),
  keyId: keyId.exactOptional(),
  runId: runId.exactOptional(),
  correlationId: correlationId.exactOptional(),
  since: time.exactOptional().meta({ description: 'at or after' }),
  until: time.exactOptional().meta({ description: 'before' }),
});

const auditEntry = z
  .strictObject({
    id: z.string(),
    at: moment,
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
