/** The API key routes. Responses never contain a key's digest. */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { newKey } from '../../../lib/api/auth.ts';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { cursorTime, keyId as keyIdSchema } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import { iso, seconds } from '../../../lib/engine/time.ts';
import type { ApiKey } from '../../../lib/ports/control.ts';
import { createKey } from '../../../lib/service/access/create-key.ts';
import { listKeys } from '../../../lib/service/access/list-keys.ts';
import { revokeKey } from '../../../lib/service/access/revoke-key.ts';
import { rotateKey } from '../../../lib/service/access/rotate-key.ts';
import { type OperationTable, type CommonTools, refuse, times } from '../operation.ts';

type HandledOperations = 'createKey' | 'listKeys' | 'revokeKey' | 'rotateKey';

const cursorShape = z.strictObject({ createdAt: cursorTime, keyId: keyIdSchema });

export const keyOperations: OperationTable<HandledOperations, CommonTools> = {
  async createKey({ decider: { deps } }, { scope, body }) {
    const { text, ...minted } = newKey(scope.environment, randomBytes);
    const facts = defined({
      scopes: body.scopes,
      expiresAt: body.expiresAt === undefined ? undefined : iso(body.expiresAt),
      rateLimitPerMinute: body.rateLimitPerMinute,
    });
    const result = await createKey(deps, scope, body, minted);
    switch (result.kind) {
      case 'created':
        return { status: 201, body: newKeyOf(result.key, text), audit: { resource: `key/${result.key.keyId}`, facts } };
      case 'foreign_project': {
        const requestedScope = {
          projectId: body.projectId ?? scope.projectId,
          environment: body.environment ?? scope.environment,
        };
        return { ...refuse(result.kind), audit: { resource: 'key', facts: { ...facts, ...requestedScope } } };
      }
      case 'expired': {
        const errorDetail = { pointer: '/expiresAt', code: 'too_early', message: 'must be in the future' };
        return { ...refuse('invalid_request', { errors: [errorDetail] }), audit: { resource: 'key', facts } };
      }
    }
  },

  async listKeys({ decider: { deps } }, { scope, query: { cursor, limit } }) {
    const listing = { operationId: 'listKeys', scope, filters: {} };
    const after = cursor === undefined ? undefined : decodeCursor(listing, cursorShape, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await listKeys(deps, scope, defined({ limit, after }));
    const next = found.next === undefined ? null : encodeCursor(listing, { ...found.next });
    return { status: 200, body: { data: found.keys.map(keySummaryOf), cursor: next, hasMore: next !== null } };
  },

  async revokeKey({ decider: { deps } }, { scope, params: { keyId }, caller, session }) {
    const audit = { resource: `key/${keyId}` };
    const result = await revokeKey(deps, scope, keyId, caller, session?.raised?.keyId);
    if (result.kind !== 'revoked') return { ...refuse(result.kind), audit };
    return { status: 200, body: { keyId, revokedAt: iso(result.revokedAt) }, audit };
  },

  async rotateKey({ decider: { deps } }, { scope, params: { keyId }, body: { overlapSeconds } }) {
    const audit = { resource: `key/${keyId}`, facts: { overlapSeconds } };
    const { text, ...minted } = newKey(scope.environment, randomBytes);
    const result = await rotateKey(deps, scope, keyId, seconds(overlapSeconds), minted);
    if (result.kind !== 'rotated') return { ...refuse(result.kind), audit };
    const { key, replaced } = result;
    return {
      status: 201,
      body: { ...newKeyOf(key, text), replaces: { keyId, expiresAt: iso(replaced.expiresAt) } },
      audit: { ...audit, facts: { ...audit.facts, replacedBy: key.keyId } },
    };
  },
};

const termsOf = ({ projectId, environment, scopes, createdAt, expiresAt, rateLimitPerMinute }: ApiKey) =>
  defined({
    projectId,
    environment,
    scopes,
    createdAt: iso(createdAt),
    ...times({ expiresAt }),
    rateLimitPerMinute,
  });

const keySummaryOf = (key: ApiKey) =>
  defined({
    keyId: key.keyId,
    ...termsOf(key),
    ...times({ revokedAt: key.revokedAt, lastUsedAt: key.lastUsedAt }),
    replacedBy: key.replacedBy,
  });

/** @param text the key itself; only the response of its creation contains it */
const newKeyOf = (key: ApiKey, text: string) => ({ keyId: key.keyId, key: text, ...termsOf(key) });
