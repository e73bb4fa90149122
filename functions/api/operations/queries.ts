/** The stored query routes. */
import { queryName } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { QueryDefinition } from '../../../lib/engine/query/definition.ts';
import type { QuerySummary } from '../../../lib/ports/versions.ts';
import { createQuery, publishQueryVersion } from '../../../lib/service/definitions/publish-query.ts';
import { type OperationTable, type CommonTools, refuse } from '../operation.ts';
import { archiveVersioned, getVersioned, listVersioned, nameDiffers, publicationOf, publishedOf, summaryOf } from './versions.ts';

type HandledOperations = 'createQuery' | 'listQueries' | 'getQuery' | 'publishQueryVersion' | 'archiveQuery';

const queriesOf = ({ queries: store, clock }: CommonTools['decider']['deps']) => ({
  resourceKind: 'query' as const,
  store,
  name: queryName,
  clock,
});

export const queryOperations: OperationTable<HandledOperations, CommonTools> = {
  async createQuery({ decider: { deps } }, { scope, body }) {
    const audit = { resource: `query/${body.name}` };
    const result = await createQuery(deps, scope, body);
    switch (result.kind) {
      case 'published':
        return { status: 201, body: publishedOf(body.name, result), headers: { location: `/v1/queries/${body.name}` }, audit };
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'exists':
        return { ...refuse('query_exists'), audit };
    }
  },

  async publishQueryVersion({ decider: { deps } }, { scope, params: { name }, body }) {
    const audit = { resource: `query/${name}` };
    if (body.name !== undefined && body.name !== name) return nameDiffers('query', name);
    const result = await publishQueryVersion(deps, scope, { ...body, name });
    switch (result.kind) {
      case 'published': {
        const location = `/v1/queries/${name}?version=${result.version}`;
        return { status: 201, body: publishedOf(name, result), headers: { location }, audit: publicationOf(audit, result) };
      }
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'not_found':
        return { ...refuse('query_not_found'), audit };
    }
  },

  async getQuery({ decider: { deps } }, request) {
    return getVersioned(queriesOf(deps), request, (summary, version) => ({
      ...querySummaryOf(summary),
      version: version.version,
      query: definitionOf(version),
    }));
  },

  async listQueries({ decider: { deps } }, request) {
    return listVersioned(queriesOf(deps), 'listQueries', request, (summaries) => summaries.map(querySummaryOf));
  },

  async archiveQuery({ decider: { deps } }, request) {
    return archiveVersioned(queriesOf(deps), request);
  },
};

const querySummaryOf = (summary: QuerySummary) => ({ ...summaryOf(summary), kind: summary.kind });

/** The definition in the form that the publish routes accept. */
const definitionOf = (query: QueryDefinition): JsonObject => {
  const { name, kind, description, connection, maxBytes, timeoutMs } = query;
  const parameters = query.parameters.map((parameter) => ({ ...parameter }));
  const common = defined({
    name,
    kind,
    description,
    connection,
    parameters,
    maxBytes,
    timeoutMs,
  });
  if (query.kind === 'http') return { ...common, request: { ...query.request } };
  const { statement, readOnly, maxRows } = query;
  return { ...common, statement, readOnly, maxRows };
};
