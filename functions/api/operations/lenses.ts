/** The routes about lenses. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { type LensName, lensName, lensNamePattern } from '../../../lib/engine/ids.ts';
import { iso } from '../../../lib/engine/time.ts';
import { judgeLens } from '../../../lib/lens/judge-lens.ts';
import type { Lens } from '../../../lib/ports/lenses.ts';
import { archiveLens, createLens, getLens, publishLens } from '../../../lib/service/keep-lenses.ts';
import { type Operations, refuse } from '../operation.ts';
import { keptOf, lensOf, lensSummaryOf } from '../present/lens.ts';
import type { Tools } from '../tools.ts';

type Own = 'createLens' | 'listLenses' | 'getLens' | 'publishLens' | 'archiveLens';

const position = z.strictObject({ name: z.string().regex(lensNamePattern).transform(lensName) });

export const lensOperations = ({ decider: { deps } }: Tools): Pick<Operations<'library'>, Own> => ({
  createLens: async ({ scope, body }) => {
    const audit = { resource: `lens/${body.name}` };
    const lens = lensIn(body, body.name);
    const findings = judgeLens(lens);
    if (findings.length > 0) return { ...refuse('lens_invalid', { errors: findings }), audit };
    const result = await createLens(deps, scope, lens);
    if (result.kind !== 'kept') return { ...refuse(result.kind), audit };
    const headers = { location: `/v1/lenses/${body.name}` };
    return { status: 201, body: keptOf(lens, result), headers, audit };
  },

  publishLens: async ({ scope, params, body }) => {
    const audit = { resource: `lens/${params.name}` };
    if (body.name !== undefined && body.name !== params.name) {
      const message = `the path names the lens ${params.name}`;
      return { ...refuse('invalid_request', { errors: [{ place: '/name', code: 'name_differs', message }] }), audit };
    }
    const lens = lensIn(body, params.name);
    const findings = judgeLens(lens);
    if (findings.length > 0) return { ...refuse('lens_invalid', { errors: findings }), audit };
    const result = await publishLens(deps, scope, lens);
    if (result.kind !== 'kept') return { ...refuse(result.kind), audit };
    const headers = { location: `/v1/lenses/${params.name}?version=${result.version}` };
    return { status: 201, body: keptOf(lens, result), headers, audit };
  },

  getLens: async ({ scope, params, query }) => {
    const result = await getLens(deps, scope, params.name, query.version);
    switch (result.kind) {
      case 'found':
        return { status: 200, body: lensOf(result.summary, result.version) };
      case 'lens_not_found':
        return refuse(result.kind);
      case 'version_not_found':
        return refuse('not_found', { message: `${params.name} has no version ${query.version}.` });
    }
  },

  listLenses: async ({ scope, query }) => {
    const { cursor, limit, ...filters } = query;
    const listing = { operationId: 'listLenses', scope, filters };
    const after = cursor === undefined ? undefined : decodeCursor(listing, position, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await deps.lenses.list(scope, { limit, ...filters, ...(after === undefined ? {} : { after: after.name }) });
    const next = found.next === undefined ? null : encodeCursor(listing, { name: found.next });
    return { status: 200, body: { data: found.lenses.map(lensSummaryOf), cursor: next, hasMore: next !== null } };
  },

  archiveLens: async ({ scope, params }) => {
    const audit = { resource: `lens/${params.name}` };
    const result = await archiveLens(deps, scope, params.name);
    if (result.kind === 'lens_not_found') return { ...refuse(result.kind), audit };
    return { status: 200, body: { name: params.name, archivedAt: iso(result.archivedAt) }, audit };
  },
});

const lensIn = (body: BodyOf<'publishLens'>, name: LensName): Lens => ({ ...body, name });
