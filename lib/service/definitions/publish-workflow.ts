/** Publishes workflows: validates the definition, and refuses names that the active deployment serves. */
import { defined } from '../../base/defined.ts';
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { hasErrors } from '../../engine/graph/findings.ts';
import type { InspectNode } from '../../engine/graph/inspection.ts';
import type { AppName, Scope } from '../../engine/ids.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Authorship } from '../../ports/versions.ts';
import { findServingApp } from './deployed-names.ts';
import type { Deps } from '../deps.ts';
import { checkDefinition } from './check-definition.ts';
import { hasVersion } from './closed-reason.ts';
import {
  type NoSuchName,
  type Published,
  type VersionConflict,
  publishAfter,
  publishFirst,
  publishNext,
  publishRecreated,
  repeatedPublication,
  versionConflict,
} from './publish-version.ts';

type Refused =
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] }
  /** the active deployment of the app has a workflow of that name */
  | { readonly kind: 'workflow_name_taken'; readonly app: AppName };
type Accepted = Published & { readonly warnings: readonly Finding[] };

interface Deleting {
  readonly kind: 'workflow_deleting';
}

export type CreateWorkflowResult = Accepted | Refused | Deleting | VersionConflict | { readonly kind: 'exists' };
export type PublishVersionResult = Accepted | Refused | Deleting | VersionConflict | NoSuchName;

type Needs = Pick<Deps, 'workflows' | 'deployments' | 'drafts' | 'clock'>;

/** What a publication says beside the definition. */
export interface PublishOptions extends Authorship {
  /** the version that must be the newest one; null: there must be none; absent: any */
  readonly basedOn?: number | null;
  /** the revision of the draft that is published, which is deleted then */
  readonly draftRevision?: number;
}

/** Publishes the first version of a new workflow: 1, or above the versions of a deleted workflow of that name. */
export async function createWorkflow(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
  options: PublishOptions = {},
): Promise<CreateWorkflowResult> {
  const checked = await checkPublication(deps, scope, definition, inspect);
  if (checked.kind !== 'valid') return checked;
  if ((await deps.workflows.summary(scope, definition.name))?.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  const publishing = publication(deps, scope, definition, options);
  const result = await publishFirstVersion(deps, publishing);
  if (result.kind === 'published')
    return completed(deps, scope, definition.name, { ...result, warnings: checked.warnings }, options);
  if (options.basedOn === undefined) return result;
  const repeated = await repeatedPublication(firstVersion, {}, publishing);
  if (repeated === undefined) return versionConflict(publishing);
  return completed(deps, scope, definition.name, { ...repeated, warnings: checked.warnings }, options);
}

/** Publishes the next version of an existing workflow. */
export async function publishVersion(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
  options: PublishOptions = {},
): Promise<PublishVersionResult> {
  const summary = await deps.workflows.summary(scope, definition.name);
  if (summary === undefined) return { kind: 'not_found' };
  if (summary.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  const checked = await checkPublication(deps, scope, definition, inspect);
  if (checked.kind !== 'valid') return checked;
  const publishing = publication(deps, scope, definition, options);
  const { basedOn } = options;
  const result =
    basedOn === undefined ? await publishNext(summary, publishing) : await publishAfter(basedOn, summary, publishing);
  if (result.kind === 'version_conflict') return result;
  return completed(deps, scope, definition.name, { ...result, warnings: checked.warnings }, options);
}

/** The number of the first version under a name that was never deleted. */
const firstVersion = 1;

async function publishFirstVersion({ workflows }: Needs, publishing: ReturnType<typeof publication>) {
  const freedAfter = await workflows.freedAfter(publishing.scope, publishing.name);
  return freedAfter === undefined ? publishFirst(publishing) : publishRecreated(freedAfter, { ...publishing, store: workflows });
}

async function completed(
  deps: Needs,
  scope: Scope,
  name: WorkflowDefinition['name'],
  accepted: Accepted,
  { draftRevision }: PublishOptions,
): Promise<Accepted | Deleting> {
  if (await isDeletedMeanwhile(deps, scope, name, accepted)) return { kind: 'workflow_deleting' };
  if (draftRevision !== undefined) await removeDraft(deps, scope, name, draftRevision);
  return accepted;
}

/** The version is published already, so a failure does not fail the request: the draft stays until its author deletes it. */
async function removeDraft({ drafts }: Needs, scope: Scope, name: WorkflowDefinition['name'], revision: number): Promise<void> {
  try {
    await drafts.remove(scope, name, revision);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** Whether a concurrent deletion covers the published version; a new workflow may have the name by now. */
async function isDeletedMeanwhile(
  { workflows }: Needs,
  scope: Scope,
  name: WorkflowDefinition['name'],
  { version }: Published,
): Promise<boolean> {
  const summary = await workflows.summary(scope, name);
  return summary === undefined || summary.deletingSince !== undefined || !hasVersion(summary, version);
}

async function checkPublication(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<Refused | { readonly kind: 'valid'; readonly warnings: readonly Finding[] }> {
  const findings = checkDefinition(definition, inspect);
  if (hasErrors(findings)) return { kind: 'definition_invalid', findings };
  const serving = await findServingApp(deps, scope, definition.name);
  return serving === undefined ? { kind: 'valid', warnings: findings } : { kind: 'workflow_name_taken', app: serving.app };
}

const publication = (
  { workflows, clock }: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  { createdBy, note }: PublishOptions,
) => ({
  store: workflows,
  clock,
  scope,
  name: definition.name,
  numbered: (version: number) => ({ ...definition, version }),
  authorship: defined({ createdBy, note }),
});
