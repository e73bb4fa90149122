/**
 * Notes where sweeping begins, when an installation is made and before anybody has a key to start runs with. Without it the first
 * sweep would have to guess how far back to look, and runs from before that would be looked at by nobody, ever.
 */
import { minuteOf } from '../../engine/log/heartbeat-timeout.ts';
import type { Deps } from '../deps.ts';

/** May be asked again at any time: where a sweep has been, it goes on. */
export async function beginSweeping({ index, clock }: Pick<Deps, 'index' | 'clock'>): Promise<void> {
  const last = minuteOf(clock.now()) - 1;
  // Whoever sweeps in between has come further than this.
  if ((await index.sweptMinute()) === undefined) await index.recordSweptMinute(last);
}
