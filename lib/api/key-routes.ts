/** The routes for API keys and the audit trail, as entries of the route table. */
import { ok, type Route } from './route.ts';
import * as keys from './schemas/keys.ts';

const smallLimitBytes = 16_384;

export const keyRoutes = [
  {
    method: 'POST',
    path: '/v1/keys',
    operationId: 'createKey',
    summary: 'Creates an API key; only this response contains its text',
    servedBy: 'library',
    scope: 'admin',
    body: { schema: keys.createKeyBody, limitBytes: smallLimitBytes },
    idempotencyKey: 'none',
    action: 'keys.create',
    responses: { 201: ok('Created', keys.createdKeyResponse) },
    errors: ['foreign_project'],
  },
  {
    method: 'GET',
    path: '/v1/keys',
    operationId: 'listKeys',
    summary: 'Lists API keys, newest first, without their secrets',
    servedBy: 'library',
    scope: 'admin',
    query: keys.listKeysQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of keys', keys.keyList) },
    errors: ['cursor_invalid'],
  },
  {
    method: 'DELETE',
    path: '/v1/keys/{keyId}',
    operationId: 'revokeKey',
    summary: 'Revokes an API key; repeating it has no effect',
    servedBy: 'library',
    scope: 'admin',
    params: keys.keyParams,
    invalidParamsCode: 'not_found',
    idempotencyKey: 'none',
    action: 'keys.revoke',
    responses: { 200: ok('Revoked', keys.revokedKeyResponse) },
    errors: ['not_found', 'key_in_use'],
  },
  {
    method: 'POST',
    path: '/v1/keys/{keyId}/rotate',
    operationId: 'rotateKey',
    summary: 'Replaces a key with a new key of the same terms; the old key works for an overlap',
    servedBy: 'library',
    scope: 'admin',
    params: keys.keyParams,
    invalidParamsCode: 'not_found',
    body: { schema: keys.rotateKeyBody, limitBytes: smallLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'keys.rotate',
    responses: { 201: ok('The new key; only this response contains its text', keys.rotatedKeyResponse) },
    errors: ['not_found', 'key_retired'],
  },
] as const satisfies readonly Route[];

export const auditRoutes = [
  {
    method: 'GET',
    path: '/v1/audit',
    operationId: 'listAudit',
    summary: 'Lists the audit trail, newest first',
    servedBy: 'library',
    scope: 'admin',
    query: keys.listAuditQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of entries', keys.auditList) },
    errors: ['cursor_invalid'],
  },
] as const satisfies readonly Route[];
