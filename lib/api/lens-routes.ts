/** The routes about lenses, as entries of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as lenses from './schemas/lenses.ts';
import * as versions from './schemas/versions.ts';

/** A version is stored in one item of at most 400 KB, whatever it compresses to. */
const lensLimitBytes = 262_144;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });
const lensByName = { params: lenses.lensParams, invalidParamsCode: 'lens_not_found' } as const;

export const lensRoutes = [
  {
    method: 'POST',
    path: '/v1/lenses',
    operationId: 'createLens',
    summary: 'Publishes version 1 of a new lens',
    servedBy: 'library',
    scope: 'workflows:write',
    body: { schema: lenses.createLensBody, limitBytes: lensLimitBytes },
    idempotencyKey: 'none',
    action: 'lenses.create',
    responses: { 201: ok('Published', lenses.publishedLensResponse) },
    errors: ['lens_invalid', 'lens_exists'],
  },
  {
    method: 'GET',
    path: '/v1/lenses',
    operationId: 'listLenses',
    summary: 'Lists lenses by name',
    servedBy: 'library',
    scope: 'workflows:read',
    query: versions.summariesQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('A page of lenses', lenses.lensList) },
    errors: ['cursor_invalid'],
  },
  {
    method: 'GET',
    path: '/v1/lenses/{name}',
    operationId: 'getLens',
    summary: 'The latest version of a lens, or one by its number',
    servedBy: 'library',
    scope: 'workflows:read',
    ...lensByName,
    query: versions.versionQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('The lens', lenses.lensResponse) },
    errors: ['lens_not_found', 'not_found'],
  },
  {
    method: 'DELETE',
    path: '/v1/lenses/{name}',
    operationId: 'archiveLens',
    summary: 'Archives a lens: nodes continue to use it, and lists leave it out until the next version is published',
    servedBy: 'library',
    scope: 'workflows:write',
    ...lensByName,
    idempotencyKey: 'none',
    action: 'lenses.archive',
    responses: { 200: ok('Archived', versions.archivedResponse) },
    errors: ['lens_not_found'],
  },
  {
    method: 'POST',
    path: '/v1/lenses/{name}/versions',
    operationId: 'publishLens',
    summary: 'Publishes the next version of a lens; an archived one is listed again',
    servedBy: 'library',
    scope: 'workflows:write',
    ...lensByName,
    body: { schema: lenses.publishLensBody, limitBytes: lensLimitBytes },
    idempotencyKey: 'none',
    action: 'lenses.publish',
    responses: { 201: ok('Published', lenses.publishedLensResponse) },
    errors: ['lens_invalid', 'lens_not_found'],
  },
] as const satisfies readonly Route[];
