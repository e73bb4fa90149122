/** The routes that publish versions of workflows and list them, with those of the drafts that versions are made from. */
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../../lib/api/cursor.ts';
import type { CurrentState } from '../../../lib/api/errors.ts';
import type { BodyOf } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import type { WorkflowDefinition } from '../../../lib/engine/graph/definition.ts';
import type { WorkflowName } from '../../../lib/engine/ids.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { VersionRecord } from '../../../lib/ports/versions.ts';
import { listVersions } from '../../../lib/service/definitions/list-versions.ts';
import { type PublishOptions, createWorkflow, publishVersion } from '../../../lib/service/definitions/publish-workflow.ts';
import type { CallerContext } from '../caller.ts';
import { type OperationTable, refuse } from '../operation.ts';
import { authorOf, draftOperations } from './drafts.ts';
import { nameDiffers, publicationOf, publishedOf } from './versions.ts';

const nameTakenByApp = (app: string): string => `The active deployment of the app ${app} has a workflow of that name.`;

type HandledOperations = 'createWorkflow' | 'publishVersion' | 'listVersions' | keyof typeof draftOperations;

export const publicationOperations: OperationTable<HandledOperations> = {
  ...draftOperations,

  async createWorkflow({ decider: { deps }, inspect }, request) {
    const { scope, body } = request;
    const result = await createWorkflow(deps, scope, definitionOf(body, body.name), inspect, publicationOptions(request));
    const audit = { resource: `workflow/${body.name}` };
    if (result.kind === 'exists') return { ...refuse('workflow_exists'), audit };
    if (result.kind !== 'published') return { ...refusalOf(result), audit };
    const headers = { location: `/v1/workflows/${body.name}` };
    return { status: 201, body: publishedOf(body.name, result), headers, audit };
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
    if (result.kind === 'not_found') return { ...refuse('workflow_not_found'), audit };
    if (result.kind !== 'published') return { ...refusalOf(result), audit };
    const headers = { location: `/v1/workflows/${name}?version=${result.version}` };
    return { status: 201, body: publishedOf(name, result), headers, audit: publicationOf(audit, result) };
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
};

type PublishResult = Awaited<ReturnType<typeof createWorkflow | typeof publishVersion>>;

/** The refusals that both routes declare. */
function refusalOf(result: Exclude<PublishResult, { readonly kind: 'published' | 'exists' | 'not_found' }>) {
  switch (result.kind) {
    case 'definition_invalid':
      return refuse(result.kind, { errors: result.findings });
    case 'version_conflict':
      return refuse(result.kind, { current: currentVersion(result.newest) });
    case 'workflow_deleting':
      return refuse(result.kind);
    case 'workflow_name_taken':
      return refuse(result.kind, { message: nameTakenByApp(result.app) });
  }
}

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

export const definitionOf = (
  { nodes, edges, options }: Pick<BodyOf<'validateWorkflow'>, 'nodes' | 'edges' | 'options'>,
  name: WorkflowName,
): WorkflowDefinition => ({
  name,
  nodes,
  edges,
  options,
});
