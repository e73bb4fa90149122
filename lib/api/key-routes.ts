/** The routes about API keys, as entries of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as keys from './schemas/keys.ts';

const smallLimitBytes = 16_384;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const keyRoutes = [
  {
    method: 'POST',
    path: '/v1/keys',
    operationId: 'createKey',
    summary: 'Makes an API key; the answer is the only one that shows it',
    servedBy: 'library',
    scope: 'admin',
    body: { schema: keys.createKeyBody, limitBytes: smallLimitBytes },
    idempotencyKey: 'none',
    action: 'keys.create',
    responses: { 201: ok('Made', keys.createdKeyResponse) },
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
    summary: 'Revokes an API key; once more changes nothing',
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
    summary: 'Makes a key with the terms of another, which goes on working for a while',
    servedBy: 'library',
    scope: 'admin',
    params: keys.keyParams,
    invalidParamsCode: 'not_found',
    body: { schema: keys.rotateKeyBody, limitBytes: smallLimitBytes, isOptional: true },
    idempotencyKey: 'none',
    action: 'keys.rotate',
    responses: { 201: ok('The new key; the answer is the only one that shows it', keys.rotatedKeyResponse) },
    errors: ['not_found', 'key_retired'],
  },
] as const satisfies readonly Route[];
