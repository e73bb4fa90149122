/** The workflow routes. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import type { CurrentState, ErrorDetail } from '../../../lib/api/errors.ts';
import type { BodyOf, ResponseOf } from '../../../lib/api/routes.ts';
import { anyDefinition, maxListedBytes } from '../../../lib/api/schemas/workflows.ts';
import { workflowName as workflowNameSchema } from '../../../lib/api/schemas/parts.ts';
import { defined } from '../../../lib/base/defined.ts';
import type { WorkflowDefinition, WorkflowVersion } from '../../../lib/engine/graph/definition.ts';
import { type ScheduleId, type Scope, type WorkflowName, workflowName } from '../../../lib/engine/ids.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { DeletionPhase, WorkflowDeletion } from '../../../lib/ports/deletions.ts';
import type { VersionRecord, WorkflowSummary } from '../../../lib/ports/versions.ts';
import { listVersions } from '../../../lib/service/definitions/list-versions.ts';
import { type PublishOptions, createWorkflow, publishVersion } from '../../../lib/service/definitions/publish-workflow.ts';
import { validateWorkflow } from '../../../lib/service/definitions/validate-workflow.ts';
import { deleteWorkflow, deletionOf } from '../../../lib/service/deletions/delete-workflow.ts';
import type { CallerContext } from '../caller.ts';
import { authorOf } from './drafts.ts';
import { type OperationTable, type Tools, refuse, times } from '../operation.ts';
import { archiveVersioned, getVersioned, listVersioned, nameDiffers, publicationOf, publishedOf, summaryOf } from './versions.ts';

type HandledOperations =
  | 'createWorkflow'
  | 'listWorkflows'
  | 'getWorkflow'
  | 'publishVersion'
  | 'listVersions'
  | 'archiveWorkflow'
  | 'deleteWorkflow'
  | 'validateWorkflow';

/** Name for validating an unnamed definition: no validation rule uses the name. */
const unnamed = workflowName('unnamed');

const workflowsOf = ({ workflows: store, clock }: Tools['decider']['deps']) => ({
  resourceKind: 'workflow' as const,
  store,
  name: workflowNameSchema,
  clock,
});

const nameTakenByApp = (app: string): string => `The active deployment of the app ${app} has a workflow of that name.`;

export const workflowOperations: OperationTable<HandledOperations> = {
  async createWorkflow({ decider: { deps }, inspect }, request) {
    const { scope, body } = request;
    const result = await createWorkflow(deps, scope, definitionOf(body, body.name), inspect, publicationOptions(request));
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
      case 'version_conflict':
        return { ...refuse(result.kind, { current: currentVersion(result.newest) }), audit };
      case 'workflow_deleting':
        return { ...refuse(result.kind), audit };
      case 'workflow_name_taken':
        return { ...refuse(result.kind, { message: nameTakenByApp(result.app) }), audit };
    }
  },

  async publishVersion({ decider: { deps }, inspect }, request) {
    const {
      scope,
      params: { name },
      body,
    } = request;
    const audit = { resource: `workflow/${name}` };
    if (body.name !== undefined && body.name !== name) return nameDiffers('workflow', name);
    const result = await publishVersion(deps, scope, definitionOf(body, name), inspect, publicationOptions(request));
    switch (result.kind) {
      case 'published': {
        const location = `/v1/workflows/${name}?version=${result.version}`;
        return { status: 201, body: publishedOf(name, result), headers: { location }, audit: publicationOf(audit, result) };
      }
      case 'definition_invalid':
        return { ...refuse(result.kind, { errors: result.findings }), audit };
      case 'not_found':
        return { ...refuse('workflow_not_found'), audit };
      case 'version_conflict':
        return { ...refuse(result.kind, { current: currentVersion(result.newest) }), audit };
      case 'workflow_deleting':
        return { ...refuse(result.kind), audit };
      case 'workflow_name_taken':
        return { ...refuse(result.kind, { message: nameTakenByApp(result.app) }), audit };
    }
  },

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

  async listVersions({ decider: { deps } }, { scope, params: { name }, query: { limit, cursor } }) {
    const listing = { operationId: 'listVersions', scope, filters: { name } } as const;
    const from = cursor === undefined ? {} : decodeCursor(listing, versionCursor, cursor);
    if (from === undefined) return refuse('cursor_invalid');
    const found = await listVersions(deps, scope, name, { limit, ...from });
    if (found === undefined) return refuse('workflow_not_found');
    const next = found.next === undefined ? null : encodeCursor(listing, { before: found.next });
    const data = found.versions.map(({ createdAt, ...record }) => ({ ...record, createdAt: iso(createdAt) }));
    return { status: 200, body: { data, cursor: next, hasMore: next !== null } };
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

const versionCursor = z.strictObject({ before: z.int().min(1) });

const publicationOptions = ({
  body: { basedOn, note, draftRevision },
  ...caller
}: Pick<CallerContext, 'session' | 'caller'> & { readonly body: PublishOptions }): PublishOptions =>
  defined({ basedOn, note, draftRevision, createdBy: authorOf(caller) });

const currentVersion = (newest: VersionRecord | undefined): CurrentState =>
  newest === undefined
    ? { version: null }
    : defined({ version: newest.version, at: iso(newest.createdAt), by: newest.createdBy });

const scheduleConflict = (scheduleId: ScheduleId): ErrorDetail => ({
  pointer: 'path/name',
  code: 'scheduled',
  message: `the schedule ${scheduleId} starts runs of this workflow; delete it first: DELETE /v1/schedules/${scheduleId}`,
});

const definitionOf = (
  { nodes, edges, options }: Pick<BodyOf<'validateWorkflow'>, 'nodes' | 'edges' | 'options'>,
  name: WorkflowName,
): WorkflowDefinition => ({
  name,
  nodes,
  edges,
  options,
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

const definitionIn = ({ version, nodes, edges, options: { args, ...options } }: WorkflowVersion) => ({
  version,
  nodes: nodes.map((node) => ({ ...node })),
  edges: edges.map((edge) => ({ ...edge })),
  options: defined({
    ...options,
    args: args?.map((argument) => ({ ...argument })),
    budget: options.budget === undefined ? undefined : { ...options.budget },
  }),
});

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
