/** The routes about workflows. */
import type { ErrorDetail } from '../../../lib/api/errors.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { workflowName as workflowNameSchema } from '../../../lib/api/schemas/parts.ts';
import type { WorkflowDefinition } from '../../../lib/engine/graph/definition.ts';
import { type ScheduleId, type WorkflowName, workflowName } from '../../../lib/engine/ids.ts';
import { deleteWorkflow, deletionOf } from '../../../lib/service/deletions/delete-workflow.ts';
import { createWorkflow, publishVersion } from '../../../lib/service/definitions/publish-workflow.ts';
import { validateWorkflow } from '../../../lib/service/definitions/validate-workflow.ts';
import { type Operations, refuse } from '../operation.ts';
import { publishedOf } from '../present/versions.ts';
import { deletionIn, workflowOf, workflowSummaryOf } from '../present/workflow.ts';
import type { Tools } from '../tools.ts';
import { archiveVersioned, getVersioned, listVersioned, nameDiffers, publicationOf } from './versions.ts';

type HandledOperations =
  | 'createWorkflow'
  | 'listWorkflows'
  | 'getWorkflow'
  | 'publishVersion'
  | 'archiveWorkflow'
  | 'deleteWorkflow'
  | 'validateWorkflow';

/** Judged without a name: none of the rules looks at it. */
const unnamed = workflowName('unnamed');

export const workflowOperations = ({ decider: { deps }, inspect }: Tools): Pick<Operations<'api'>, HandledOperations> => {
  const versionedResource = () => ({
    resourceKind: 'workflow' as const,
    store: deps.workflows,
    name: workflowNameSchema,
    clock: deps.clock,
  });
  return {
    createWorkflow: async ({ scope, body }) => {
      const result = await createWorkflow(deps, scope, definitionOf(body, body.name), inspect);
      const audit = { resource: `workflow/${body.name}` };
      switch (result.kind) {
        case 'published':
          return {
            status: 201,
            body: publishedOf(body.name, result),
            headers: { location: `/v1/workflows/${body.name}` },
            audit,
          };
        case 'definition_invalid':
          return { ...refuse(result.kind, { errors: result.findings }), audit };
        case 'exists':
          return { ...refuse('workflow_exists'), audit };
        case 'workflow_deleting':
        case 'workflow_name_taken':
          return { ...refuse(result.kind), audit };
      }
    },

    publishVersion: async ({ scope, params: { name }, body }) => {
      const audit = { resource: `workflow/${name}` };
      if (body.name !== undefined && body.name !== name) return nameDiffers('workflow', name);
      const result = await publishVersion(deps, scope, definitionOf(body, name), inspect);
      switch (result.kind) {
        case 'published': {
          const location = `/v1/workflows/${name}?version=${result.version}`;
          return { status: 201, body: publishedOf(name, result), headers: { location }, audit: publicationOf(audit, result) };
        }
        case 'definition_invalid':
          return { ...refuse(result.kind, { errors: result.findings }), audit };
        case 'not_found':
          return { ...refuse('workflow_not_found'), audit };
        case 'workflow_deleting':
        case 'workflow_name_taken':
          return { ...refuse(result.kind), audit };
      }
    },

    validateWorkflow: async ({ body }) => {
      const { valid, findings } = validateWorkflow(definitionOf(body, body.name ?? unnamed), inspect);
      return { status: 200, body: { valid, findings } };
    },

    getWorkflow: (request) =>
      getVersioned(versionedResource(), request, async (summary, version) => {
        const isDeleting = summary.deletingSince !== undefined;
        return workflowOf(summary, version, isDeleting ? await deletionOf(deps, request.scope, summary) : undefined);
      }),
    listWorkflows: (request) => listVersioned(versionedResource(), 'listWorkflows', request, workflowSummaryOf),

    archiveWorkflow: async (request) => {
      const { scope, params } = request;
      const summary = await deps.workflows.summary(scope, params.name);
      if (summary?.deletingSince === undefined) return archiveVersioned(versionedResource(), request);
      return { ...refuse('workflow_deleting'), audit: { resource: `workflow/${params.name}` } };
    },

    deleteWorkflow: async ({ scope, caller, params: { name }, body: { confirm } }) => {
      const audit = { resource: `workflow/${name}` };
      if (confirm !== name) {
        const exists = (await deps.workflows.summary(scope, name)) !== undefined;
        return { ...refuse(exists ? 'confirmation_mismatch' : 'workflow_not_found'), audit };
      }
      const result = await deleteWorkflow(deps, scope, name, caller ?? null);
      switch (result.kind) {
        case 'deleting': {
          const { throughVersion } = result.deletion;
          return {
            status: 202,
            body: { name, deletion: deletionIn(result.deletion) },
            audit: { ...audit, facts: { throughVersion } },
          };
        }
        case 'not_found':
          return { ...refuse('workflow_not_found'), audit };
        case 'workflow_scheduled':
          return { ...refuse(result.kind, { errors: result.scheduleIds.map(scheduleConflict) }), audit };
      }
    },
  };
};

const scheduleConflict = (scheduleId: ScheduleId): ErrorDetail => ({
  pointer: 'path/name',
  code: 'scheduled',
  message: `the schedule ${scheduleId} starts runs of it: DELETE /v1/schedules/${scheduleId}`,
});

const definitionOf = ({ nodes, edges, options }: BodyOf<'validateWorkflow'>, name: WorkflowName): WorkflowDefinition => ({
  name,
  nodes,
  edges,
  options,
});
