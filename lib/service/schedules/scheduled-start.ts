/** What a fire of a schedule would start: the same look-up as for a start, and a pinned version besides. */
import { defined } from '../../engine/defined.ts';
import { validateInput } from '../../engine/graph/validate-input.ts';
import type { Scope } from '../../engine/ids.ts';
import type { ScheduleDefinition } from '../../ports/schedules.ts';
import type { Resolved } from '../runs/begin-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import { closedReason, hasVersion } from '../definitions/closed-reason.ts';
import { type StartRefusal, resolveStart } from '../runs/start-run.ts';

export type ScheduledRefusal = StartRefusal | { readonly kind: 'version_not_found' };

export async function resolveScheduled(
  decider: Pick<Decider, 'deps' | 'plans'>,
  scope: Scope,
  {
    workflowName,
    version: number,
    latestVersionWhenSet,
    input,
  }: Pick<ScheduleDefinition, 'workflowName' | 'version' | 'latestVersionWhenSet' | 'input'>,
): Promise<Resolved | ScheduledRefusal> {
  if (number === undefined) {
    const request = defined({ scope, workflowName, input });
    return resolveStart(decider, latestVersionWhenSet === undefined ? request : { ...request, atVersion: latestVersionWhenSet });
  }
  const { deps, plans } = decider;
  const summary = await deps.workflows.summary(scope, workflowName);
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const closed = closedReason(summary);
  if (closed !== undefined) return { kind: closed };
  if (!hasVersion(summary, number)) return { kind: 'version_not_found' };
  const version = await plans.version(deps, scope, { name: workflowName, version: number });
  if (version === undefined) return { kind: 'version_not_found' };
  const checkedInput = validateInput(version.options.args, input);
  return checkedInput.kind === 'refused'
    ? { kind: 'input_invalid', errors: checkedInput.errors }
    : { kind: 'found', version, input: checkedInput.input };
}

/** For the terms of a schedule: which graph of the name it was made for. */
export const atVersionOf = (resolved: Resolved): Pick<ScheduleDefinition, 'latestVersionWhenSet'> =>
  'deploymentId' in resolved ? {} : { latestVersionWhenSet: resolved.version.version };

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
      return refusal.errors.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');
    case 'node_not_reached':
      return 'a fire goes on from no node';
  }
};
