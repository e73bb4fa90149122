/** Acknowledges the wildcard resources of a role, with reasons: their names are created at run time. */
import type { Construct } from 'constructs';
import { type PermissionName, type ProductResources, artifactsArn, codePayloadsArn, payloadsArn } from './permissions.ts';
import { acknowledgeWildcard } from './wildcards.ts';

export function acknowledgeDynamicResources(
  role: Construct,
  permissionNames: readonly PermissionName[],
  resources: ProductResources,
): void {
  if ((['read payloads', 'write payloads', 'delete runs'] as const).some((permission) => permissionNames.includes(permission))) {
    acknowledgeWildcard(
      role,
      payloadsArn(resources),
      'Payload objects are named by run and digest; the prefix contains nothing else.',
    );
  }
  if (permissionNames.includes('store payloads of code')) {
    acknowledgeWildcard(
      role,
      codePayloadsArn(resources),
      'Payload objects of code are named by project, run and digest; no other object has ~code in its name.',
    );
  }
  if (permissionNames.includes('store artifacts') || permissionNames.includes('read artifacts')) {
    acknowledgeWildcard(
      role,
      artifactsArn(resources),
      'Artifacts are named by project, deployment and digest; the prefix contains nothing else.',
    );
  }
  if (permissionNames.includes('post to sockets')) {
    for (const arn of resources.sockets?.connectionArns ?? []) {
      acknowledgeWildcard(role, arn, 'The gateway generates connection ids; the stage contains no other connections.');
    }
  }
  if (permissionNames.includes('set timers') || permissionNames.includes('manage schedules')) {
    acknowledgeWildcard(role, resources.timers.schedulesArn, 'Schedules are named by run; the group contains nothing else.');
  }
}
