/** Places whose things are named as they come: of these, and of nothing else, a role has all. */
import type { Construct } from 'constructs';
import { type PermissionName, type ProductResources, artifactsArn, codePayloadsArn, payloadsArn } from './permissions.ts';
import { acknowledgeWildcard } from './wildcards.ts';

export function acknowledgeDynamicResources(
  role: Construct,
  permissionNames: readonly PermissionName[],
  resources: ProductResources,
): void {
  if ((['read payloads', 'write payloads', 'delete runs'] as const).some((permission) => permissionNames.includes(permission))) {
    acknowledgeWildcard(role, payloadsArn(resources), 'Payloads are named by run and digest; the prefix holds nothing else.');
  }
  if (permissionNames.includes('store payloads of code')) {
    acknowledgeWildcard(
      role,
      codePayloadsArn(resources),
      'Payloads of code are named by project, run and digest; nothing else has ~code in its name.',
    );
  }
  if (permissionNames.includes('store artifacts') || permissionNames.includes('read artifacts')) {
    acknowledgeWildcard(
      role,
      artifactsArn(resources),
      'Artifacts are named by project, deployment and digest; the prefix holds nothing else.',
    );
  }
  if (permissionNames.includes('post to sockets')) {
    for (const arn of resources.sockets?.connectionArns ?? []) {
      acknowledgeWildcard(role, arn, 'The gateway names connections as they are opened; the stage has no others.');
    }
  }
  if (permissionNames.includes('set timers') || permissionNames.includes('manage schedules')) {
    acknowledgeWildcard(role, resources.timers.schedulesArn, 'Schedules are named by the run; their group holds nothing else.');
  }
}
