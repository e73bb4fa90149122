/** The routes about workflows. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { workflowName as workflowNameSchema } from '../../../lib/api/schemas/parts.ts';
import type { WorkflowDefinition } from '../../../lib/engine/graph/definition.ts';
import { type WorkflowName, workflowName } from '../../../lib/engine/ids.ts';
import { iso } from '../../../lib/engine/time.ts';
import { archiveWorkflow } from '../../../lib/service/archive-workflow.ts';
import { getWorkflow } from '../../../lib/service/get-workflow.ts';
import { listWorkflows } from '../../../lib/service/list-workflows.ts';
import { createWorkflow, publishVersion } from '../../../lib/service/publish-workflow.ts';
import { validateWorkflow } from '../../../lib/service/validate-workflow.ts';
import { type Operations, refuse } from '../operation.ts';
import { publishedOf, summaryOf, workflowOf } from '../present/workflow.ts';
import type { Tools } from '../tools.ts';

type Own = 'createWorkflow' | 'listWorkflows' | 'getWorkflow' | 'publishVersion' | 'archiveWorkflow' | 'validateWorkflow';

const position = z.strictObject({ name: workflowNameSchema });
/** Judged without a name: none of the rules looks at it. */
const unnamed = workflowName('unnamed');

export const workflowOperations = ({ decider: { deps }, inspect }: Tools): Pick<Operations<'api'>, Own> => ({
  createWorkflow: async ({ scope, body }) => {
    const result = await createWorkflow(deps, scope, definitionOf(body, body.name), inspect);
    const audit = { resource: `workflow/${body.name}` };
    switch (result.kind) {
      case 'published':
        return { status: 201, body: publishedOf(body.name, result), headers: { location: `/v1/workflows/${body.name}` }, audit };
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'workflow_exists':
      case 'workflow_name_taken':
        return { ...refuse(result.kind), audit };
    }
  },

  publishVersion: async ({ scope, params, body }) => {
    const audit = { resource: `workflow/${params.name}` };
    if (body.name !== undefined && body.name !== params.name) {
      const message = `the path names the workflow ${params.name}`;
      return { ...refuse('invalid_request', { errors: [{ place: '/name', code: 'name_differs', message }] }), audit };
    }
    const result = await publishVersion(deps, scope, definitionOf(body, params.name), inspect);
    switch (result.kind) {
      case 'published': {
        const location = `/v1/workflows/${params.name}?version=${result.version}`;
        return { status: 201, body: publishedOf(params.name, result), headers: { location }, audit };
      }
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'workflow_not_found':
      case 'workflow_archived':
      case 'workflow_name_taken':
        return { ...refuse(result.kind), audit };
    }
  },

  validateWorkflow: async ({ body }) => {
    const { valid, findings } = validateWorkflow(definitionOf(body, body.name ?? unnamed), inspect);
    return { status: 200, body: { valid, findings } };
  },

  getWorkflow: async ({ scope, params, query }) => {
    const result = await getWorkflow(deps, scope, params.name, query.version);
    switch (result.kind) {
      case 'found':
        return { status: 200, body: workflowOf(result.summary, result.version) };
      case 'workflow_not_found':
        return refuse(result.kind);
      case 'version_not_found':
        return refuse('not_found', { message: `${params.name} has no version ${query.version}.` });
    }
  },

  listWorkflows: async ({ scope, query }) => {
    const { cursor, limit, ...filters } = query;
    const listing = { operationId: 'listWorkflows', scope, filters };
    const after = cursor === undefined ? undefined : decodeCursor(listing, position, cursor);
    if (cursor !== undefined && after === undefined) return refuse('cursor_invalid');
    const found = await listWorkflows(deps, scope, { limit, ...filters, ...(after === undefined ? {} : { after: after.name }) });
    const next = found.next === undefined ? null : encodeCursor(listing, { name: found.next });
    return { status: 200, body: { data: found.workflows.map(summaryOf), cursor: next, hasMore: next !== null } };
  },

  archiveWorkflow: async ({ scope, params }) => {
    const audit = { resource: `workflow/${params.name}` };
    const result = await archiveWorkflow(deps, scope, params.name);
    if (result.kind === 'workflow_not_found') return { ...refuse(result.kind), audit };
    return { status: 200, body: { name: params.name, archivedAt: iso(result.archivedAt) }, audit };
  },
});

const definitionOf = ({ nodes, edges, options }: BodyOf<'validateWorkflow'>, name: WorkflowName): WorkflowDefinition => ({
  name,
  nodes,
  edges,
  options,
});
