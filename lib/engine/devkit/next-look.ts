/**
 * When the sweep looks after a run of the Workflow DevKit. Its messages exist in queues only, so a lost one is sent again: the code
 * replays its log, and a message too many changes nothing.
 */
import { backoffMs } from '../../base/retry.ts';
import { nodeId, nodeKey, topLevel, type NodeKey } from '../ids.ts';
import { type Heartbeat, deadlineCheckAt, nextCheck, timerGrace } from '../log/heartbeat-timeout.ts';
import { type RunState, openNodes } from '../log/run-state.ts';
import { type DurationMs, type Instant, after, durationMs, earliest, hours, instant, minutes } from '../time.ts';
import type { DevKitEventName } from './events.ts';

/** The key of the heartbeats of deliveries, and of the messages that the sweep sent. No correlation id has this form. */
export const deliveryKey: NodeKey = nodeKey({ nodeId: nodeId('.delivery'), iteration: topLevel });

/** Silence after which a message counts as lost; doubled with each message that was sent in vain. */
const silence: DurationMs = minutes(2);
const maxSilence: DurationMs = hours(6);

/** After these the code waits: nothing of the log is unread. */
const suspendsAfter: ReadonlySet<DevKitEventName> = new Set(['hook_created', 'wait_created']);

/** When the sweep must next check an open run of any kind. `sign` is as in `nextLook`. */
export function nextCheckOf(state: RunState, deadlineAt: Instant, now: Instant, sign?: Heartbeat): Instant {
  if (state.devkit === undefined) return nextCheck(state, deadlineAt, now);
  return instant(Math.min(deadlineCheckAt(deadlineAt, now), nextLook(state, sign)));
}

/**
 * When a lost message would be noticed, if nothing happens until then.
 * @param sign the last sign of a delivery, or of a message that the sweep sent
 */
export function nextLook(state: RunState, sign: Heartbeat | undefined): Instant {
  const { devkit } = state;
  const lastAt = devkit?.run.lastEvent.at ?? instant(0);
  const resends = sign === undefined || sign.at < lastAt ? 0 : sign.resends;
  const quietSince = instant(Math.max(lastAt, sign?.at ?? lastAt));
  const patience = durationMs(backoffMs({ baseMs: silence, maxMs: maxSilence }, resends + 1));
  const times = openNodes(state).flatMap((node) => {
    if (node.status === 'waiting') return node.for === 'time' ? [after(node.wakeAt, timerGrace)] : [];
    return node.status === 'queued' && node.notBefore !== undefined ? [after(node.notBefore, timerGrace)] : [quietSince];
  });
  const isUnread = devkit !== undefined && !suspendsAfter.has(devkit.run.lastEvent.event);
  if (isUnread) times.push(quietSince);
  const first = earliest(times);
  // Only hooks are open. Their resumption sends a message of its own, and is an unread event of the log.
  if (first === undefined) return after(quietSince, maxSilence);
  return instant(Math.max(first, after(quietSince, patience)));
}
