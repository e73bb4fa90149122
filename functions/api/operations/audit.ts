/** The route of the audit trail. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { cursorTime } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { RecordedEntry } from '../../../lib/ports/control.ts';
import { listAudit } from '../../../lib/service/access/list-audit.ts';
import { type CommonTools, type OperationTable, refuse } from '../operation.ts';

/** The id of an entry is a nonce. */
const cursorShape = z.strictObject({ at: cursorTime, id: z.string().min(1).max(64) });

const entryOf = ({ id, at, keyId, session, action, resource, result, ip, userAgent, metadata }: RecordedEntry) =>
  defined({
    id,
    at: iso(at),
    keyId,
    session,
    action,
    resource,
    result,
    ip,
    userAgent,
    metadata,
  });

export const auditOperations: OperationTable<'listAudit', CommonTools> = {
  async listAudit({ decider: { deps } }, { scope, query }) {
    const { cursor, limit, ...filters } = query;
    const listing = { operationId: 'listAudit', scope, filters };
    const after = cursor === undefined ? undefined : decodeCursor(listing, cursorShape, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await listAudit(deps, scope, filters, defined({ limit, after }));
    const next = found.next === undefined ? null : encodeCursor(listing, { ...found.next });
    return { status: 200, body: { data: found.entries.map(entryOf), cursor: next, hasMore: next !== null } };
  },
};
