/**
 * Sends a run's name to its code again, if its message seems lost. While a delivery of the run sends heartbeats, nothing is sent: the
 * code counts its invocations.
 */
import { type Instant, after } from '../../../engine/time.ts';
import { deliveryKey, nextCheckOf, nextResendAt } from '../../../engine/devkit/next-check.ts';
import { type Heartbeat, baseHeartbeatTimeout } from '../../../engine/log/heartbeat-timeout.ts';
import type { Decider } from '../../decider.ts';
import type { Recovery } from '../../execution/recover-run.ts';
import { flowJobOf } from './jobs.ts';
import type { DevKitFold } from './world.ts';

export async function recoverDevKitRun({ deps }: Decider, fold: DevKitFold): Promise<Recovery> {
  const { head, state } = fold;
  const now: Instant = deps.clock.now();
  const lastHeartbeat = (await deps.log.heartbeats(head.address)).find(({ node }) => node === deliveryKey);
  const checkedAgain = (last: Heartbeat | undefined): Recovery => ({
    resent: [],
    needsRecheck: false,
    checkAt: nextCheckOf(state, head.deadlineAt, now, last),
  });
  if (lastHeartbeat !== undefined && lastHeartbeat.resends === 0 && after(lastHeartbeat.at, baseHeartbeatTimeout) > now)
    return checkedAgain(lastHeartbeat);
  if (nextResendAt(state, lastHeartbeat) > now) return checkedAgain(lastHeartbeat);
  const isSame = lastHeartbeat !== undefined && lastHeartbeat.at >= (state.devkit?.run.lastEvent.at ?? 0);
  const resends = (isSame ? lastHeartbeat.resends : 0) + 1;
  const job = flowJobOf(deps, head, `recheck#${state.asOf}#${resends}`);
  // In a lane of its own: the message of a function that crashed blocks the lane of the run for its visibility timeout.
  await deps.jobs.send([{ ...job, lane: job.deduplication }]);
  // Sent first, recorded second: a crash in between causes one more message, which the queue drops.
  const sent: Heartbeat = { node: deliveryKey, at: now, resends };
  await deps.log.heartbeat(head.address, sent, head.expiresAt);
  return { ...checkedAgain(sent), resent: [deliveryKey] };
}
