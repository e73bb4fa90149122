/** What is done beside a drive that takes long: beats, looks at what others commit, and sees to it that it ends in time. */
import type { Deliveries } from '../engine/log/deliveries.ts';
import type { Head } from '../engine/log/head.ts';
import { type DurationMs, type Instant, after, between, durationMs, instant, seconds } from '../engine/time.ts';
import type { Drive } from '../ports/programs.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { untilNextLook } from './deadline.ts';
import type { Deps } from './deps.ts';
import type { DriveLog } from './drive-log.ts';
import { sendHeartbeat } from './record-deliveries.ts';

/** "Still at work", at this rate; well within the patience of `engine/log/silence.ts`. */
const beatEvery = seconds(60);
/** A cancellation reaches the body of a step within five seconds. */
const lookEvery = seconds(3);
/** Code that is told to end, and does not, is ended with its thread. */
const mostPatience = seconds(10);

/**
 * @param killAt the code must have ended by then
 * @param done ends the watching
 * @param deliveries what is known of earlier deliveries of the drive's message
 */
export async function watchDrive(
  deps: Pick<Deps, 'clock' | 'log'>,
  head: Pick<Head, 'address' | 'deadlineAt' | 'expiresAt'>,
  log: DriveLog,
  drive: Drive,
  {
    killAt,
    done,
    deliveries,
  }: { readonly killAt: Instant; readonly done: AbortSignal; readonly deliveries: Deliveries | undefined },
): Promise<void> {
  const { clock } = deps;
  const alarm = alarmOf(clock, done);
  log.onStop = alarm.ring;
  let lastBeat = clock.now();
  let endBy = killAt;
  let isToldToEnd = false;
  let isToldToUndo = log.ending !== undefined;
  while (!done.aborted) {
    const left = between(clock.now(), endBy);
    if (left <= 0) return drive.kill('the code did not end in time');
    await alarm.sleep(untilNextLook(deps, { head }, shorter(left, lookEvery)));
    if (done.aborted) return;
    try {
      await log.passDeadline();
      const looked = await log.look();
      if (looked.kind === 'over' && !isToldToEnd) {
        isToldToEnd = true;
        endBy = instant(Math.min(endBy, after(clock.now(), mostPatience)));
        drive.cancel(looked.reason);
      } else if (looked.kind === 'news') {
        const { ending } = looked.history;
        if (ending !== undefined && !isToldToUndo) {
          isToldToUndo = true;
          drive.cancel(ending.status === 'cancelled' ? (ending.reason ?? 'the run was cancelled') : ending.error.message);
        }
        drive.overtake(looked.history);
      }
      const now = clock.now();
      if (between(lastBeat, now) < beatEvery || isToldToEnd) continue;
      await sendHeartbeat(deps, head, { ...log.node, attempt: log.attempt }, deliveries);
      lastBeat = now;
    } catch (trouble) {
      // A missed look or beat costs a repetition at worst.
      if (!(trouble instanceof Unavailable)) throw trouble;
    }
  }
}

const shorter = (one: DurationMs, other: DurationMs): DurationMs => durationMs(Math.min(one, other));

/** Sleeps until its time is over, it is rung for, or all is done. One that rings while nobody sleeps is heard by the next to sleep. */
function alarmOf(clock: Deps['clock'], done: AbortSignal) {
  let current = new AbortController();
  const ring = (): void => current.abort();
  done.addEventListener('abort', ring);
  return {
    ring,
    sleep: async (wait: DurationMs): Promise<void> => {
      await clock.sleep(wait, current.signal);
      if (!done.aborted) current = new AbortController();
    },
  };
}
