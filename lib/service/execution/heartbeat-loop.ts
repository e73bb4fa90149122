/**
 * Watches an attempt while it runs: checks its run at intervals and sends heartbeats. Nodes, deliveries to bundles and workflow tasks use
 * this one loop; each has its own check.
 */
import type { NodeRef } from '../../engine/ids.ts';
import type { Deliveries } from '../../engine/log/deliveries.ts';
import type { Head } from '../../engine/log/head.ts';
import { firstHeartbeatBy } from '../../engine/log/heartbeat-timeout.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { type DurationMs, type Instant, between, instant, seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { untilNextCheck } from '../commit/deadline.ts';
import type { Deps } from '../deps.ts';
import { sendHeartbeat } from '../run-log/attempt-heartbeats.ts';

/** Well within the shortest heartbeat timeout (`engine/log/heartbeat-timeout.ts`). */
export const attemptHeartbeatInterval = seconds(60);

/** How often a worker reads the log during an attempt, to see whether the run has ended. */
export const cancelCheckInterval = seconds(5);
/** An attempt is shown as running after this time. For a shorter one, the completion contains the start. */
export const announceAfter = seconds(1);

export interface WatchedAttempt {
  readonly head: Pick<Head, 'address' | 'deadlineAt' | 'expiresAt'>;
  readonly open: NodeRef & Pick<OpenNode, 'attempt'>;
  /** records of the attempt's earlier deliveries */
  readonly deliveries: Deliveries | undefined;
  /** when the attempt was due: its heartbeat timeout counts from then */
  readonly dueAt: Instant;
  /** the start of the attempt, if no commit records it: the first heartbeat then comes after `announceAfter` */
  readonly unrecordedStart?: Instant | undefined;
  /** time until the attempt's time limit, in ms; Infinity without one */
  readonly untilLimit: () => number;
  /** ends the attempt, whose time limit has passed; the watching ends with it */
  readonly stopAtLimit: () => void | Promise<void>;
  /** longest time between two checks, in ms */
  readonly checkInterval: () => number;
  /** Checks whether the attempt is still wanted. */
  readonly check: () => Promise<CheckedAttempt>;
}

export type CheckedAttempt =
  | 'wanted'
  /** its end was requested: it sends no more heartbeats */
  | 'ending'
  /** it was ended; the watching ends with it */
  | 'ended';

/**
 * @param done ends the watching
 * @param sleep by default sleeps until the time has passed or `done` aborts
 */
export async function watchWithHeartbeats(
  deps: Pick<Deps, 'clock' | 'log'>,
  { head, open, deliveries, dueAt, unrecordedStart, untilLimit, stopAtLimit, checkInterval, check }: WatchedAttempt,
  done: AbortSignal,
  sleep: (wait: DurationMs) => Promise<void> = (wait) => deps.clock.sleep(wait, done),
): Promise<void> {
  const { clock } = deps;
  let lastHeartbeatAt = unrecordedStart === undefined ? heartbeatsFrom(deliveries, dueAt, clock.now()) : undefined;
  while (!done.aborted) {
    const remaining = untilLimit();
    if (remaining <= 0) return stopAtLimit();
    const interval = lastHeartbeatAt === undefined ? announceAfter : checkInterval();
    await sleep(untilNextCheck(deps, { head }, Math.min(remaining, interval)));
    if (done.aborted) return;
    try {
      const checked = await check();
      if (checked === 'ended') return;
      const now = clock.now();
      const isDue = lastHeartbeatAt === undefined || between(lastHeartbeatAt, now) >= attemptHeartbeatInterval;
      if (!isDue || checked === 'ending') continue;
      await sendHeartbeat(deps, head, open, deliveries, unrecordedStart);
      lastHeartbeatAt = now;
    } catch (error) {
      // A missed check or heartbeat causes a duplicate execution at worst.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}

/** The time from which the interval of heartbeats counts: where nothing is recorded yet, the first one comes by `firstHeartbeatBy`. */
const heartbeatsFrom = (deliveries: Deliveries | undefined, dueAt: Instant, now: Instant): Instant =>
  deliveries === undefined ? instant(Math.min(now, dueAt + firstHeartbeatBy - attemptHeartbeatInterval)) : now;
