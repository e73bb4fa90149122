/** Publishing workflows: judged first, and under a name that the active deployment does not serve. */
import type { Finding, WorkflowDefinition } from '../engine/graph/definition.ts';
import { hasErrors } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import type { Scope } from '../engine/ids.ts';
import { isServed } from './deployed-names.ts';
import type { Deps } from './deps.ts';
import { judgeDefinition } from './judge-definition.ts';
import { mayHave } from './open-workflow.ts';
import { type NoSuchName, type Published, publishAgain, publishFirst, publishNext } from './publish-version.ts';

type Refused =
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] }
  /** the active deployment has a workflow of that name */
  | { readonly kind: 'workflow_name_taken' };
type Accepted = Published & { readonly warnings: readonly Finding[] };

interface Deleting {
  readonly kind: 'workflow_deleting';
}

export type CreateAnswer = Accepted | Refused | Deleting | { readonly kind: 'exists' };
export type PublishAnswer = Accepted | Refused | Deleting | NoSuchName;

type Needs = Pick<Deps, 'workflows' | 'deployments' | 'clock'>;

/** The first version of a new workflow: 1, or above the versions of a deleted one of that name. */
export async function createWorkflow(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<CreateAnswer> {
  const judged = await judge(deps, scope, definition, inspect);
  if (judged.kind !== 'fit') return judged;
  if ((await deps.workflows.summary(scope, definition.name))?.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  const result = await openFirst(deps, scope, definition);
  if (result.kind !== 'published') return result;
  return (await isLost(deps, scope, definition.name, result))
    ? { kind: 'workflow_deleting' }
    : { ...result, warnings: judged.warnings };
}

/** The next version of a workflow that exists. */
export async function publishVersion(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<PublishAnswer> {
  const summary = await deps.workflows.summary(scope, definition.name);
  if (summary === undefined) return { kind: 'not_found' };
  if (summary.deletingSince !== undefined) return { kind: 'workflow_deleting' };
  const judged = await judge(deps, scope, definition, inspect);
  if (judged.kind !== 'fit') return judged;
  const published = await publishNext(summary, publication(deps, scope, definition));
  return (await isLost(deps, scope, definition.name, published))
    ? { kind: 'workflow_deleting' }
    : { ...published, warnings: judged.warnings };
}

async function openFirst(deps: Needs, scope: Scope, definition: WorkflowDefinition) {
  const { workflows } = deps;
  const publishing = publication(deps, scope, definition);
  const freedAfter = await workflows.freedAfter(scope, definition.name);
  return freedAfter === undefined ? publishFirst(publishing) : publishAgain(freedAfter, { ...publishing, store: workflows });
}

/** The name was closed while its version was written: what was published goes with the workflow, and another one may have the name. */
async function isLost(
  { workflows }: Needs,
  scope: Scope,
  name: WorkflowDefinition['name'],
  { version }: Published,
): Promise<boolean> {
  const summary = await workflows.summary(scope, name);
  return summary === undefined || summary.deletingSince !== undefined || !mayHave(summary, version);
}

async function judge(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<Refused | { readonly kind: 'fit'; readonly warnings: readonly Finding[] }> {
  const findings = judgeDefinition(definition, inspect);
  if (hasErrors(findings)) return { kind: 'definition_invalid', findings };
  return (await isServed(deps, scope, definition.name)) ? { kind: 'workflow_name_taken' } : { kind: 'fit', warnings: findings };
}

const publication = ({ workflows, clock }: Needs, scope: Scope, definition: WorkflowDefinition) => ({
  store: workflows,
  clock,
  scope,
  name: definition.name,
  numbered: (version: number) => ({ ...definition, version }),
});
