/** The route about the tags of a run, as an entry of the table of routes. */
import type { Route } from './route.ts';
import * as runs from './schemas/runs.ts';
import * as tags from './schemas/tags.ts';

export const tagRoutes = [
  {
    method: 'GET',
    path: '/v1/runs/{runId}/tags',
    operationId: 'listRunTags',
    summary: 'What is worth a glance in a run, with its severity',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    query: tags.listTagsQuery,
    idempotencyKey: 'none',
    responses: { 200: { description: 'Tags', schema: tags.tagList } },
    errors: ['not_found', 'cursor_invalid'],
  },
] as const satisfies readonly Route[];
