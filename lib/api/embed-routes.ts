/** The routes of embeds, as entries of the route table. The page of an embed is no route: docs/API.md describes it. */
import { type Route, ok, smallLimitBytes } from './route.ts';
import * as embeds from './schemas/embeds.ts';

export const embedRoutes = [
  {
    method: 'POST',
    path: '/v1/embeds',
    operationId: 'createEmbed',
    summary: 'Creates a page that shows the status of one run or workflow in pages of other origins',
    servedBy: 'library',
    scope: 'runs:write',
    body: { schema: embeds.createEmbedBody, limitBytes: smallLimitBytes },
    idempotencyKey: 'none',
    action: 'embeds.create',
    responses: { 201: ok('Created', embeds.createdEmbedResponse) },
    errors: ['not_found', 'too_many_embeds'],
  },
  {
    method: 'GET',
    path: '/v1/embeds',
    operationId: 'listEmbeds',
    summary: 'Lists embeds, oldest first, without their tokens',
    servedBy: 'library',
    scope: 'runs:read',
    idempotencyKey: 'none',
    responses: { 200: ok('All embeds', embeds.embedList) },
    errors: [],
  },
  {
    method: 'DELETE',
    path: '/v1/embeds/{embedId}',
    operationId: 'revokeEmbed',
    summary: 'Revokes an embed: its page shows nothing from then on',
    servedBy: 'library',
    scope: 'runs:write',
    params: embeds.embedParams,
    invalidParamsCode: 'not_found',
    idempotencyKey: 'none',
    action: 'embeds.revoke',
    responses: { 200: ok('Revoked', embeds.revokedEmbedResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];
