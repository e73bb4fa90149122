/** All operations of the library function, and its small ones: the audit trail and the OpenAPI document. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { openApiDocument } from '../../../lib/api/openapi.ts';
import { routes } from '../../../lib/api/routes.ts';
import { cursorTime, jsonObject } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { RecordedEntry } from '../../../lib/ports/control.ts';
import { listAudit } from '../../../lib/service/access/list-audit.ts';
import { type Operations, type Served, type CommonTools, refuse } from '../operation.ts';
import { keyOperations } from './keys.ts';
import { lensOperations } from './lenses.ts';
import { queryOperations } from './queries.ts';
import { scheduleOperations } from './schedules.ts';

/** The id of an entry is a nonce. */
const cursorShape = z.strictObject({ at: cursorTime, id: z.string().min(1).max(64) });

const entryOf = ({ id, at, keyId, action, resource, result, ip, userAgent, metadata }: RecordedEntry) =>
  defined({
    id,
    at: iso(at),
    keyId,
    action,
    resource,
    result,
    ip,
    userAgent,
    metadata,
  });

/** The document changes with a deployment only. Clients may cache it for five minutes. */
const openApiHeaders = { 'cache-control': 'public, max-age=300' };

let document: JsonObject | undefined;

const libraryOperations: Operations<'library', CommonTools> = {
  ...lensOperations,
  ...queryOperations,
  ...scheduleOperations,
  ...keyOperations,

  async listAudit({ decider: { deps } }, { scope, query }) {
    const { cursor, limit, ...filters } = query;
    const listing = { operationId: 'listAudit', scope, filters };
    const after = cursor === undefined ? undefined : decodeCursor(listing, cursorShape, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await listAudit(deps, scope, filters, defined({ limit, after }));
    const next = found.next === undefined ? null : encodeCursor(listing, { ...found.next });
    return { status: 200, body: { data: found.entries.map(entryOf), cursor: next, hasMore: next !== null } };
  },

  async getOpenApi(_tools) {
    // Created on first use, so that it does not slow down cold starts for other routes.
    document ??= jsonObject.parse(JSON.parse(JSON.stringify(openApiDocument(routes))));
    return { status: 200, body: document, headers: openApiHeaders };
  },
};

export const servedByLibrary: Served<'library', CommonTools> = { routes, operations: libraryOperations };
