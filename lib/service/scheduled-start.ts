/** What a fire of a schedule would start: the same look-up as for a start, and a pinned version besides. */
import { acceptInput } from '../engine/graph/arguments.ts';
import type { Scope } from '../engine/ids.ts';
import type { ScheduleTerms } from '../ports/schedules.ts';
import type { Resolved } from './begin-run.ts';
import type { Decider } from './decide-run.ts';
import { closedBy, mayHave } from './open-workflow.ts';
import { type StartRefusal, resolveStart } from './start-run.ts';

export type ScheduledRefusal = StartRefusal | { readonly kind: 'version_not_found' };

export async function resolveScheduled(
  decider: Pick<Decider, 'deps' | 'plans'>,
  scope: Scope,
  { workflowName, version: number, atVersion, input }: Pick<ScheduleTerms, 'workflowName' | 'version' | 'atVersion' | 'input'>,
): Promise<Resolved | ScheduledRefusal> {
  if (number === undefined) {
    const asked = { scope, workflowName, ...(input === undefined ? {} : { input }) };
    return resolveStart(decider, atVersion === undefined ? asked : { ...asked, atVersion });
  }
  const { deps, plans } = decider;
  const summary = await deps.workflows.summary(scope, workflowName);
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const closed = closedBy(summary);
  if (closed !== undefined) return { kind: closed };
  if (!mayHave(summary, number)) return { kind: 'version_not_found' };
  const version = await plans.version(deps, scope, { name: workflowName, version: number });
  if (version === undefined) return { kind: 'version_not_found' };
  const verdict = acceptInput(version.options.args, input);
  return verdict.kind === 'refused'
    ? { kind: 'input_invalid', faults: verdict.faults }
    : { kind: 'found', version, input: verdict.input };
}

/** For the terms of a schedule: which graph of the name it was made for. */
export const atVersionOf = (resolved: Resolved): Pick<ScheduleTerms, 'atVersion'> =>
  'deploymentId' in resolved ? {} : { atVersion: resolved.version.version };

/** In words, for the record of a fire that started nothing. */
export const messageOf = (refusal: ScheduledRefusal | { readonly kind: 'node_not_reached' }): string => {
  switch (refusal.kind) {
    case 'workflow_not_found':
      return 'the workflow that the schedule names does not exist, or was deleted; change the schedule to name a workflow that exists';
    case 'workflow_archived':
      return 'the workflow is archived';
    case 'workflow_deleting':
      return 'the workflow is being deleted';
    case 'version_not_found':
      return 'the workflow has no such version';
    case 'no_active_deployment':
      return 'there is no workflow of that name, and no active deployment';
    case 'deployment_not_found':
      return `there is no deployment ${refusal.deploymentId}`;
    case 'deployment_not_verified':
      return `the artifact of deployment ${refusal.deploymentId} was never verified`;
    case 'input_invalid':
      return refusal.faults.map(({ place, message }) => `${place}: ${message}`).join('; ');
    case 'node_not_reached':
      return 'a fire goes on from no node';
  }
};
