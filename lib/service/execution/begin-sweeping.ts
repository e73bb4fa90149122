/**
 * Records the minute at which sweeping starts, when an installation is created and no key exists yet to start runs. Without it the
 * first sweep would have to guess how far back to read, and no sweep would ever check older runs.
 */
import { minuteOf } from '../../engine/log/heartbeat-timeout.ts';
import type { Deps } from '../deps.ts';

/** Idempotent: an existing record stays. */
export async function beginSweeping({ index, clock }: Pick<Deps, 'index' | 'clock'>): Promise<void> {
  const last = minuteOf(clock.now()) - 1;
  // A sweep that runs in between records a later minute, and the store keeps the latest.
  if ((await index.sweptMinute()) === undefined) await index.recordSweptMinute(last);
}
