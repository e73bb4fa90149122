/** What is done beside a delivery that takes long: says that it has begun, beats, and looks whether the run is still open. */
import type { Deliveries } from '../engine/log/deliveries.ts';
import { isTerminal } from '../engine/log/fold.ts';
import type { OpenNode } from '../engine/log/node-state.ts';
import { between, seconds } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { isPastDeadline, untilNextLook } from './deadline.ts';
import { decideFetchRun } from './decide-fetch-run.ts';
import type { Decider } from './decide-run.ts';
import { type RunFold, readTail } from './read-log.ts';
import { sendHeartbeat } from './record-deliveries.ts';

/** "Still at work", at this rate; well within the patience of `engine/log/silence.ts`. */
const beatEvery = seconds(60);
const lookEvery = seconds(5);
/** A delivery that takes this long is shown as running; a shorter one says so with its completion. */
const announcedAfter = seconds(1);

/**
 * Aborts the delivery through `stop` at the deadline of its run, or when its run has ended.
 * @param done ends the watching
 */
export async function watchDelivery(
  decider: Decider,
  fold: RunFold,
  { open, deliveries }: { readonly open: OpenNode; readonly deliveries: Deliveries | undefined },
  stop: AbortController,
  done: AbortSignal,
): Promise<void> {
  const { deps } = decider;
  const startedAt = deps.clock.now();
  let lastBeat = startedAt;
  let isAnnounced = open.status === 'running';
  while (!done.aborted) {
    await deps.clock.sleep(untilNextLook(deps, fold, isAnnounced ? lookEvery : announcedAfter), done);
    if (done.aborted) return;
    try {
      await readTail(deps, fold);
      if (isPastDeadline(deps, fold)) await decideFetchRun(decider, fold, [{ kind: 'deadline-passed' }]);
      if (isTerminal(fold.state.progress)) return stop.abort();
      if (!isAnnounced) {
        const node = { nodeId: open.nodeId, iteration: open.iteration };
        await decideFetchRun(decider, fold, [{ kind: 'node-started', node, attempt: open.attempt, startedAt }]);
        isAnnounced = true;
      }
      const now = deps.clock.now();
      if (between(lastBeat, now) < beatEvery) continue;
      await sendHeartbeat(deps, fold.head, open, deliveries);
      lastBeat = now;
    } catch (trouble) {
      // A missed look or beat costs a repetition at worst.
      if (!(trouble instanceof Unavailable)) throw trouble;
    }
  }
}
