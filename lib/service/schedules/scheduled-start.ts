/** Resolves what a fire of a schedule starts: the same lookup as for a start, or a pinned version. */
import { defined } from '../../base/defined.ts';
import type { Scope } from '../../engine/ids.ts';
import type { ScheduleDefinition } from '../../ports/schedules.ts';
import type { Resolved } from '../new-run.ts';
import type { Resolver } from '../decider.ts';
import { type StartRefusal, resolvePinned, resolveStart } from '../runs/start-run.ts';

export type ScheduledRefusal = StartRefusal | { readonly kind: 'version_not_found' };

export async function resolveScheduled(
  decider: Resolver,
  scope: Scope,
  {
    workflowName,
    version,
    latestVersionWhenSet,
    input,
  }: Pick<ScheduleDefinition, 'workflowName' | 'version' | 'latestVersionWhenSet' | 'input'>,
): Promise<Resolved | ScheduledRefusal> {
  if (version === undefined) {
    const request = defined({ scope, workflowName, input });
    return resolveStart(decider, latestVersionWhenSet === undefined ? request : { ...request, atVersion: latestVersionWhenSet });
  }
  return resolvePinned(decider, defined({ scope, workflowName, version, input }));
}

/** The graph version to record in the definition, so that a later workflow of the same name is recognised. */
export const atVersionOf = (resolved: Resolved): Pick<ScheduleDefinition, 'latestVersionWhenSet'> =>
  'deploymentId' in resolved ? {} : { latestVersionWhenSet: resolved.version.version };

/** The message for the record of a fire that started nothing. */
export const messageOf = (refusal: ScheduledRefusal | { readonly kind: 'node_not_reached' }): string => {
  switch (refusal.kind) {
    case 'workflow_not_found':
      return 'the workflow that the schedule names does not exist, or was deleted; change the schedule to name a workflow that exists';
    case 'workflow_archived':
      return 'the workflow is archived; publish a version or delete the schedule';
    case 'workflow_deleting':
      return 'the workflow is being deleted; delete the schedule';
    case 'version_not_found':
      return 'the workflow does not have the version that the schedule pins; change the schedule';
    case 'no_active_deployment':
      return 'no published workflow has that name, and no deployment is active';
    case 'deployment_not_found':
      return `deployment ${refusal.deploymentId} does not exist`;
    case 'deployment_not_verified':
      return `the artifact of deployment ${refusal.deploymentId} is not verified; verify or activate the deployment`;
    case 'input_invalid':
      return refusal.errors.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');
    case 'node_not_reached':
      return 'a schedule cannot start a run from a chosen node';
  }
};
