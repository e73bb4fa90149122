/**
 * Publishing. A version is written once under its number and never changes; the summary follows it. Whoever dies in
 * between leaves a version without its summary, and the next to publish under that name completes it.
 */
import type { Finding, WorkflowDefinition } from '../engine/graph/definition.ts';
import { hasErrors } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { isServed } from './deployed-names.ts';
import type { Deps } from './deps.ts';
import { judgeDefinition } from './judge-definition.ts';

type Published = {
  readonly kind: 'published';
  readonly version: number;
  readonly createdAt: Instant;
  readonly warnings: readonly Finding[];
};
type Invalid = { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] };

/** The active deployment has a workflow of that name. */
type Taken = { readonly kind: 'workflow_name_taken' };

export type CreateAnswer = Published | Invalid | Taken | { readonly kind: 'workflow_exists' };
export type PublishAnswer =
  | Published
  | Invalid
  | Taken
  | { readonly kind: 'workflow_not_found' }
  | { readonly kind: 'workflow_archived' };

type Needs = Pick<Deps, 'workflows' | 'deployments' | 'clock'>;

/** Version 1 of a new workflow. */
export async function createWorkflow(
  { workflows, deployments, clock }: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<CreateAnswer> {
  const findings = judgeDefinition(definition, inspect);
  if (hasErrors(findings)) return { kind: 'definition_invalid', findings };
  if (await isServed({ deployments }, scope, definition.name)) return { kind: 'workflow_name_taken' };
  const createdAt = clock.now();
  const put = await workflows.putVersion(scope, { ...definition, version: 1 }, createdAt);
  await workflows.advance(scope, definition.name, 1, createdAt);
  if (put === 'occupied') return { kind: 'workflow_exists' };
  return { kind: 'published', version: 1, createdAt, warnings: findings };
}

/** How many others may publish the same workflow at the same moment before the caller is asked to come again. */
const mostRivals = 20;

/** The next version of a workflow that exists. */
export async function publishVersion(
  { workflows, deployments, clock }: Needs,
  scope: Scope,
  definition: WorkflowDefinition,
  inspect: InspectNode,
): Promise<PublishAnswer> {
  const summary = await workflows.summary(scope, definition.name);
  if (summary === undefined) return { kind: 'workflow_not_found' };
  if (summary.archivedAt !== undefined) return { kind: 'workflow_archived' };
  const findings = judgeDefinition(definition, inspect);
  if (hasErrors(findings)) return { kind: 'definition_invalid', findings };
  if (await isServed({ deployments }, scope, definition.name)) return { kind: 'workflow_name_taken' };
  const createdAt = clock.now();
  for (let version = summary.latestVersion + 1; version <= summary.latestVersion + mostRivals; version += 1) {
    const put = await workflows.putVersion(scope, { ...definition, version }, createdAt);
    if (put === 'occupied') continue;
    await workflows.advance(scope, definition.name, version, createdAt);
    return { kind: 'published', version, createdAt, warnings: findings };
  }
  throw new Unavailable(`a free version number of ${definition.name}`);
}
