/** The workflow routes. */
import type { ErrorDetail } from '../../../lib/api/errors.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { anyDefinition, maxListedBytes } from '../../../lib/api/schemas/workflows.ts';
import { workflowName as workflowNameSchema } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import type { WorkflowDefinition, WorkflowVersion } from '../../../lib/engine/graph/definition.ts';
import { type ScheduleId, type Scope, workflowName } from '../../../lib/engine/ids.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { DeletionPhase, WorkflowDeletion } from '../../../lib/ports/deletions.ts';
import type { WorkflowSummary } from '../../../lib/ports/versions.ts';
import { validateWorkflow } from '../../../lib/service/definitions/validate-workflow.ts';
import { deleteWorkflow, deletionOf } from '../../../lib/service/deletions/delete-workflow.ts';
import { definitionOf } from './publications.ts';
import { type OperationTable, type Tools, refuse, times } from '../operation.ts';
import { archiveVersioned, getVersioned, listVersioned, summaryOf } from './versions.ts';

type HandledOperations = 'listWorkflows' | 'getWorkflow' | 'archiveWorkflow' | 'deleteWorkflow' | 'validateWorkflow';

/** Name for validating an unnamed definition: no validation rule uses the name. */
const unnamed = workflowName('unnamed');

const workflowsOf = ({ workflows: store, clock }: Tools['decider']['deps']) => ({
  resourceKind: 'workflow' as const,
  store,
  name: workflowNameSchema,
  clock,
});

export const workflowOperations: OperationTable<HandledOperations> = {
  async validateWorkflow({ inspect }, { body }) {
    const { valid, findings } = validateWorkflow(definitionOf(body, body.name ?? unnamed), inspect);
    return { status: 200, body: { valid, findings } };
  },

  async getWorkflow({ decider: { deps } }, request) {
    return getVersioned(workflowsOf(deps), request, async (summary, version) => {
      const isDeleting = summary.deletingSince !== undefined;
      return workflowOf(summary, version, isDeleting ? await deletionOf(deps, request.scope, summary) : undefined);
    });
  },

  async listWorkflows({ decider: { deps } }, request) {
    const { include, ...query } = request.query;
    return listVersioned(workflowsOf(deps), 'listWorkflows', { ...request, query }, (summaries) =>
      include === undefined ? summaries.map(workflowSummaryOf) : withDefinitions(deps, request.scope, summaries),
    );
  },

  async archiveWorkflow({ decider: { deps } }, request) {
    const { scope, params } = request;
    const summary = await deps.workflows.summary(scope, params.name);
    if (summary?.deletingSince === undefined) return archiveVersioned(workflowsOf(deps), request);
    return { ...refuse('workflow_deleting'), audit: { resource: `workflow/${params.name}` } };
  },

  async deleteWorkflow({ decider: { deps } }, { scope, caller, params: { name }, body: { confirm } }) {
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

/** The findings of a definition whose body the schema accepts; none for other bodies. */
export const findingsOfDefinition =
  (inspect: Tools['inspect']) =>
  (body: unknown): readonly ErrorDetail[] => {
    const parsed = anyDefinition.safeParse(body);
    return parsed.success ? validateWorkflow(definitionOf(parsed.data, unnamed), inspect).findings : [];
  };

const scheduleConflict = (scheduleId: ScheduleId): ErrorDetail => ({
  pointer: 'path/name',
  code: 'scheduled',
  message: `the schedule ${scheduleId} starts runs of this workflow; delete it first: DELETE /v1/schedules/${scheduleId}`,
});

const workflowSummaryOf = (summary: WorkflowSummary) => ({
  ...summaryOf(summary),
  ...times({ deletingSince: summary.deletingSince }),
});

/** The rows of a page with their latest definitions, until the page is full. One after the other, because each may be large. */
async function withDefinitions(
  { workflows }: Pick<Tools['decider']['deps'], 'workflows'>,
  scope: Scope,
  summaries: readonly WorkflowSummary[],
): Promise<ResponseOf<'listWorkflows'>['body']['data']> {
  const rows: ReturnType<typeof rowWith>[] = [];
  let bytes = 0;
  for (const summary of summaries) {
    const row = rowWith(summary, await workflows.version(scope, summary.name, summary.latestVersion));
    bytes += Buffer.byteLength(JSON.stringify(row));
    if (rows.length > 0 && bytes > maxListedBytes) break;
    rows.push(row);
  }
  return rows;
}

/** @param latest absent: it was deleted after the list was read */
const rowWith = (summary: WorkflowSummary, latest: WorkflowVersion | undefined) => ({
  ...workflowSummaryOf(summary),
  ...(latest === undefined ? {} : { definition: definitionIn(latest) }),
});

/** A stored definition as the API shows it. */
export const graphIn = ({ nodes, edges, options: { args, ...options } }: Omit<WorkflowDefinition, 'name'>) => ({
  nodes: nodes.map((node) => ({ ...node })),
  edges: edges.map((edge) => ({ ...edge })),
  options: defined({
    ...options,
    args: args?.map((argument) => ({ ...argument })),
    budget: options.budget === undefined ? undefined : { ...options.budget },
  }),
});

const definitionIn = ({ version, ...graph }: WorkflowVersion) => ({ version, ...graphIn(graph) });

const stateOf = (phase: DeletionPhase) => (phase === 'closing' || phase === 'finding' ? 'finding_runs' : 'deleting_runs');

const deletionIn = ({ requestedAt, phase, runsFound, runsDeleted }: WorkflowDeletion) =>
  ({
    requestedAt: iso(requestedAt),
    state: stateOf(phase),
    runsFound,
    runsDeleted,
  }) as const;

const workflowOf = (
  summary: WorkflowSummary,
  version: WorkflowVersion,
  deletion: WorkflowDeletion | undefined,
): ResponseOf<'getWorkflow'>['body'] =>
  defined({
    ...workflowSummaryOf(summary),
    deletion: deletion === undefined ? undefined : deletionIn(deletion),
    ...definitionIn(version),
  });
