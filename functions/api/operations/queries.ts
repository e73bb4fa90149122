/** The routes about stored queries. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import { queryName } from '../../../lib/api/schemas/parts.ts';
import type { Finding } from '../../../lib/engine/graph/definition.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { QueryDefinition } from '../../../lib/engine/query/definition.ts';
import { type Instant, iso } from '../../../lib/engine/time.ts';
import type { QuerySummary } from '../../../lib/ports/queries.ts';
import { getQuery } from '../../../lib/service/get-query.ts';
import { archiveQuery, createQuery, publishQueryVersion } from '../../../lib/service/publish-query.ts';
import { type Operations, refuse } from '../operation.ts';
import { times } from '../present/times.ts';
import type { Tools } from '../tools.ts';

type Own = 'createQuery' | 'listQueries' | 'getQuery' | 'publishQueryVersion' | 'archiveQuery';

const position = z.strictObject({ name: queryName });

export const queryOperations = ({ decider: { deps } }: Tools): Pick<Operations<'library'>, Own> => ({
  createQuery: async ({ scope, body }) => {
    const audit = { resource: `query/${body.name}` };
    const result = await createQuery(deps, scope, body);
    switch (result.kind) {
      case 'published':
        return { status: 201, body: publishedOf(body.name, result), headers: { location: `/v1/queries/${body.name}` }, audit };
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'query_exists':
        return { ...refuse(result.kind), audit };
    }
  },

  publishQueryVersion: async ({ scope, params: { name }, body }) => {
    const audit = { resource: `query/${name}` };
    if (body.name !== undefined && body.name !== name) {
      const message = `the path names the query ${name}`;
      return { ...refuse('invalid_request', { errors: [{ place: '/name', code: 'name_differs', message }] }), audit };
    }
    const result = await publishQueryVersion(deps, scope, { ...body, name });
    switch (result.kind) {
      case 'published': {
        const location = `/v1/queries/${name}?version=${result.version}`;
        return { status: 201, body: publishedOf(name, result), headers: { location }, audit };
      }
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'query_not_found':
      case 'query_archived':
        return { ...refuse(result.kind), audit };
    }
  },

  getQuery: async ({ scope, params, query }) => {
    const result = await getQuery(deps, scope, params.name, query.version);
    switch (result.kind) {
      case 'found': {
        const { summary, version } = result;
        return { status: 200, body: { ...summaryOf(summary), version: version.version, query: definitionOf(version) } };
      }
      case 'query_not_found':
        return refuse(result.kind);
      case 'version_not_found':
        return refuse('not_found', { message: `${params.name} has no version ${query.version}.` });
    }
  },

  listQueries: async ({ scope, query }) => {
    const { cursor, limit, ...filters } = query;
    const listing = { operationId: 'listQueries', scope, filters };
    const after = cursor === undefined ? undefined : decodeCursor(listing, position, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await deps.queries.list(scope, { limit, ...filters, ...(after === undefined ? {} : { after: after.name }) });
    const next = found.next === undefined ? null : encodeCursor(listing, { name: found.next });
    return { status: 200, body: { data: found.queries.map(summaryOf), cursor: next, hasMore: next !== null } };
  },

  archiveQuery: async ({ scope, params: { name } }) => {
    const audit = { resource: `query/${name}` };
    const result = await archiveQuery(deps, scope, name);
    if (result.kind === 'query_not_found') return { ...refuse(result.kind), audit };
    return { status: 200, body: { name, archivedAt: iso(result.archivedAt) }, audit };
  },
});

const summaryOf = ({ name, kind, latestVersion, createdAt, updatedAt, archivedAt }: QuerySummary) => ({
  name,
  kind,
  latestVersion,
  createdAt: iso(createdAt),
  updatedAt: iso(updatedAt),
  ...times({ archivedAt }),
});

/** As it may be published again. */
const definitionOf = (query: QueryDefinition): JsonObject => {
  const { name, kind, description, connection, maxBytes, timeoutMs } = query;
  const parameters = query.parameters.map((parameter) => ({ ...parameter }));
  const common = {
    name,
    kind,
    ...(description === undefined ? {} : { description }),
    connection,
    parameters,
    maxBytes,
    timeoutMs,
  };
  if (query.kind === 'http') return { ...common, request: { ...query.request } };
  const { statement, readOnly, maxRows } = query;
  return { ...common, statement, readOnly, maxRows };
};

interface Publication {
  readonly version: number;
  readonly createdAt: Instant;
  readonly warnings: readonly Finding[];
}

const publishedOf = (name: string, { version, createdAt, warnings }: Publication) => ({
  name,
  version,
  createdAt: iso(createdAt),
  warnings,
});
