/** The routes about stored queries, as entries of the table of routes. Who may draw workflows may say what they ask. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as queries from './schemas/queries.ts';
import * as versions from './schemas/versions.ts';

/** A statement of the longest kind and a default for each parameter. */
const queryLimitBytes = 262_144;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const queryRoutes = [
  {
    method: 'POST',
    path: '/v1/queries',
    operationId: 'createQuery',
    summary: 'Publishes version 1 of a new query',
    servedBy: 'library',
    scope: 'queries:write',
    body: { schema: queries.createQueryBody, limitBytes: queryLimitBytes },
    idempotencyKey: 'none',
    action: 'queries.create',
    responses: { 201: ok('It is published', versions.publishedResponse) },
    errors: ['definition_invalid', 'query_exists'],
  },
  {
    method: 'GET',
    path: '/v1/queries',
    operationId: 'listQueries',
    summary: 'Queries by name',
    servedBy: 'library',
    scope: 'queries:read',
    query: versions.summariesQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of queries', queries.queryList) },
    errors: ['cursor_invalid'],
  },
  {
    method: 'GET',
    path: '/v1/queries/{name}',
    operationId: 'getQuery',
    summary: 'A query, at its latest version or another',
    servedBy: 'library',
    scope: 'queries:read',
    params: queries.queryParams,
    invalidParamsCode: 'query_not_found',
    query: versions.versionQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('The query', queries.queryResponse) },
    errors: ['query_not_found', 'not_found'],
  },
  {
    method: 'POST',
    path: '/v1/queries/{name}/versions',
    operationId: 'publishQueryVersion',
    summary: 'Publishes the next version of a query; an archived one may be asked again',
    servedBy: 'library',
    scope: 'queries:write',
    params: queries.queryParams,
    invalidParamsCode: 'query_not_found',
    body: { schema: queries.publishQueryBody, limitBytes: queryLimitBytes },
    idempotencyKey: 'none',
    action: 'queries.publish',
    responses: { 201: ok('It is published', versions.publishedResponse) },
    errors: ['definition_invalid', 'query_not_found'],
  },
  {
    method: 'DELETE',
    path: '/v1/queries/{name}',
    operationId: 'archiveQuery',
    summary: 'Archives a query: no node may ask it until the next version is published',
    servedBy: 'library',
    scope: 'queries:write',
    params: queries.queryParams,
    invalidParamsCode: 'query_not_found',
    idempotencyKey: 'none',
    action: 'queries.archive',
    responses: { 200: ok('It is archived', versions.archivedResponse) },
    errors: ['query_not_found'],
  },
] as const satisfies readonly Route[];
