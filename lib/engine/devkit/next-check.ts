/**
 * When the sweep must check a run of the Workflow DevKit. Its messages exist in queues only, so the sweep sends a lost one again: the code
 * replays its log, and a duplicate message changes nothing.
 */
import { backoffMs } from '../../base/retry.ts';
import { nodeId, nodeKey, topLevel, type NodeKey } from '../ids.ts';
import { type Heartbeat, deadlineCheckAt, nextCheck, timerGrace } from '../log/heartbeat-timeout.ts';
import { type RunState, openNodes } from '../log/run-state.ts';
import { type DurationMs, type Instant, after, durationMs, earliest, hours, instant, minutes } from '../time.ts';
import type { DevKitEventName } from './events.ts';

/** The key of the heartbeats of deliveries, and of the messages that the sweep sent. No correlation id has this form. */
export const deliveryKey: NodeKey = nodeKey({ nodeId: nodeId('.delivery'), iteration: topLevel });

/** Time without an event or a heartbeat after which a message counts as lost; doubled with each resend that had no effect. */
export const resendTimeout: DurationMs = minutes(2);
const maxResendTimeout: DurationMs = hours(6);

/** After these the code waits: nothing of the log is unread. */
const suspendsAfter: ReadonlySet<DevKitEventName> = new Set(['hook_created', 'wait_created']);

/** When the sweep must next check an open run of any kind. @param lastHeartbeat as in `nextResendAt` */
export function nextCheckOf(state: RunState, deadlineAt: Instant, now: Instant, lastHeartbeat?: Heartbeat): Instant {
  if (state.devkit === undefined) return nextCheck(state, deadlineAt, now);
  return instant(Math.min(deadlineCheckAt(deadlineAt, now), nextResendAt(state, lastHeartbeat)));
}

/**
 * When the sweep sends a message again, if nothing happens until then.
 * @param lastHeartbeat of a delivery, or the record of the last resend
 */
export function nextResendAt(state: RunState, lastHeartbeat: Heartbeat | undefined): Instant {
  const { devkit } = state;
  const lastAt = devkit?.run.lastEvent.at ?? instant(0);
  const resends = lastHeartbeat === undefined || lastHeartbeat.at < lastAt ? 0 : lastHeartbeat.resends;
  const quietSince = instant(Math.max(lastAt, lastHeartbeat?.at ?? lastAt));
  const timeout = durationMs(backoffMs({ baseMs: resendTimeout, maxMs: maxResendTimeout }, resends + 1));
  const times = openNodes(state).flatMap((node) => {
    if (node.status === 'waiting') return node.for === 'time' ? [after(node.wakeAt, timerGrace)] : [];
    return node.status === 'queued' && node.notBefore !== undefined ? [after(node.notBefore, timerGrace)] : [quietSince];
  });
  const isUnread = devkit !== undefined && !suspendsAfter.has(devkit.run.lastEvent.event);
  if (isUnread) times.push(quietSince);
  const first = earliest(times);
  // Only hooks are open. Their resumption sends a message of its own, and is an unread event of the log.
  if (first === undefined) return after(quietSince, maxResendTimeout);
  return instant(Math.max(first, after(quietSince, timeout)));
}
