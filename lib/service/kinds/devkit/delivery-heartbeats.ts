/** Shows the sweep that a delivery of a run is in flight. */
import { deliveryKey } from '../../../engine/devkit/next-check.ts';
import { type DurationMs, type Instant, seconds } from '../../../engine/time.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import type { Deps } from '../../deps.ts';

/** A shorter delivery sends no heartbeat: the sweep waits longer than this. */
const heartbeatInterval = seconds(30);

/** Sends heartbeats of the message's run until the delivery has ended. */
export async function withHeartbeats<Result>(
  deps: Pick<Deps, 'clock' | 'log'>,
  { run, creation }: DevKitJob,
  deliver: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const sending = creation === undefined ? undefined : sendHeartbeats(deps, run, creation.expiresAt, done.signal);
  try {
    return await deliver();
  } finally {
    done.abort();
    await sending;
  }
}

async function sendHeartbeats(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  run: DevKitJob['run'],
  expiresAt: Instant,
  done: AbortSignal,
): Promise<void> {
  const wait: DurationMs = heartbeatInterval;
  for (;;) {
    await clock.sleep(wait, done);
    if (done.aborted) return;
    try {
      await log.heartbeat(run, { node: deliveryKey, at: clock.now(), resends: 0 }, expiresAt);
    } catch (error) {
      // A missed heartbeat causes a message too many at worst.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}
