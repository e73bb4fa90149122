/** Publishing workflows: judged first, and under a name that the active deployment does not serve. */
import type { Finding, WorkflowDefinition } from '../engine/graph/definition.ts';
import { hasErrors } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import type { Scope } from '../engine/ids.ts';
import { isServed } from './deployed-names.ts';
import type { Deps } from './deps.ts';
import { judgeDefinition } from './judge-definition.ts';
import { type NoSuchName, type Published, publishFirst, publishNext } from './publish-version.ts';

type Refused =
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] }
  /** the active deployment has a workflow of that name */
  | { readonly kind: 'workflow_name_taken' };
type Accepted = Published & { readonly warnings: readonly Finding[] };

export type CreateAnswer = Accepted | Refused | { readonly kind: 'exists' };
export type PublishAnswer = Accepted | Refused | NoSuchName;

type Needs = Pick<Deps, 'workflows' | 'deployments' | 'clock'>;

/** Version 1 of a new workflow. */
export async function createWorkflow(
  deps: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<CreateAnswer> {
  const judged = await judge(deps, scope, definition, inspect);
  if (judged.kind !== 'fit') return judged;
  const result = await publishFirst(publication(deps, scope, definition));
  return result.kind === 'published' ? { ...result, warnings: judged.warnings } : result;
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
  const judged = await judge(deps, scope, definition, inspect);
  if (judged.kind !== 'fit') return judged;
  const published = await publishNext(summary, publication(deps, scope, definition));
  return { ...published, warnings: judged.warnings };
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
