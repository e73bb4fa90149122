/** Publishes workflows: validates the definition, and refuses names that the active deployment serves. */
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { hasErrors } from '../../engine/graph/findings.ts';
import type { InspectNode } from '../../engine/graph/inspection.ts';
import type { AppName, Scope } from '../../engine/ids.ts';
import { findServingApp } from './deployed-names.ts';
import type { Deps } from '../deps.ts';
import { checkDefinition } from './check-definition.ts';
import { hasVersion } from './closed-reason.ts';
import { type NoSuchName, type Published, publishRecreated, publishFirst, publishNext } from './publish-version.ts';

type Refused =
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] }
  /** the active deployment of the app has a workflow of that name */
  | { readonly kind: 'workflow_name_taken'; readonly app: AppName };
type Accepted = Published & { readonly warnings: readonly Finding[] };

interface Deleting {
  readonly kind: 'workflow_deleting';
}

export type CreateWorkflowResult = Accepted | Refused | Deleting | { readonly kind: 'exists' };
export type PublishVersionResult = Accepted | Refused | Deleting | NoSuchName;

type Needs = Pick<Deps, 'workflows' | 'deployments' | 'clock'>;

/** Publishes the first version of a new workflow: 1, or above the versions of a deleted workflow of that name. */
export async function createWorkflow(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<CreateWorkflowResult> {
  const checked = await checkPublication(deps, scope, definition, inspect);
  if (checked.kind !== 'valid') return checked;
  if ((await deps.workflows.summary(scope, definition.name))?.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  const result = await publishFirstVersion(deps, scope, definition);
  if (result.kind !== 'published') return result;
  return (await isDeletedMeanwhile(deps, scope, definition.name, result))
    ? { kind: 'workflow_deleting' }
    : { ...result, warnings: checked.warnings };
}

/** Publishes the next version of an existing workflow. */
export async function publishVersion(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<PublishVersionResult> {
  const summary = await deps.workflows.summary(scope, definition.name);
  if (summary === undefined) return { kind: 'not_found' };
  if (summary.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  const checked = await checkPublication(deps, scope, definition, inspect);
  if (checked.kind !== 'valid') return checked;
  const published = await publishNext(summary, publication(deps, scope, definition));
  return (await isDeletedMeanwhile(deps, scope, definition.name, published))
    ? { kind: 'workflow_deleting' }
    : { ...published, warnings: checked.warnings };
}

async function publishFirstVersion(deps: Needs, scope: Scope, definition: WorkflowDefinition) {
  const { workflows } = deps;
  const publishing = publication(deps, scope, definition);
  const freedAfter = await workflows.freedAfter(scope, definition.name);
  return freedAfter === undefined ? publishFirst(publishing) : publishRecreated(freedAfter, { ...publishing, store: workflows });
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

const publication = ({ workflows, clock }: Needs, scope: Scope, definition: WorkflowDefinition) => ({
  store: workflows,
  clock,
  scope,
  name: definition.name,
  numbered: (version: number) => ({ ...definition, version }),
});
