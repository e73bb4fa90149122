/** Places whose things are named as they come: of these, and of nothing else, a role has all. */
import type { Construct } from 'constructs';
import { type PermissionName, type Places, artifactsArn, codePayloadsArn, payloadsArn } from './permissions.ts';
import { acknowledgeWildcard } from './wildcards.ts';

export function acknowledgeOwnPlaces(role: Construct, may: readonly PermissionName[], places: Places): void {
  if ((['read payloads', 'write payloads', 'delete runs'] as const).some((permission) => may.includes(permission))) {
    acknowledgeWildcard(role, payloadsArn(places), 'Payloads are named by run and digest; the prefix holds nothing else.');
  }
  if (may.includes('keep payloads of code')) {
    acknowledgeWildcard(
      role,
      codePayloadsArn(places),
      'Payloads of code are named by project, run and digest; nothing else has ~code in its name.',
    );
  }
  if (may.includes('keep artifacts') || may.includes('read artifacts')) {
    acknowledgeWildcard(
      role,
      artifactsArn(places),
      'Artifacts are named by project, deployment and digest; the prefix holds nothing else.',
    );
  }
  if (may.includes('post to sockets')) {
    for (const arn of places.sockets?.connectionArns ?? []) {
      acknowledgeWildcard(role, arn, 'The gateway names connections as they are opened; the stage has no others.');
    }
  }
  if (may.includes('set timers') || may.includes('keep schedules')) {
    acknowledgeWildcard(role, places.timers.schedulesArn, 'Schedules are named by the run; their group holds nothing else.');
  }
}
