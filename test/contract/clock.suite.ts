/** What every clock must do. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DurationMs, between, durationMs, hours } from '../../lib/engine/time.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Opened, Subject } from './subject.ts';

export interface ClockUnderTest {
  readonly clock: Clock;
  /** Lets that much time pass. */
  readonly advance: (time: DurationMs) => Promise<void>;
}

export const clockSuite = ({ name, open }: Subject<ClockUnderTest>) =>
  describe(`clock: ${name}`, () => {
    let opened: Opened<ClockUnderTest>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    test('a sleeper wakes when its time has passed, and the shorter sleep ends first', async () => {
      const { clock, advance } = opened.port;
      const start = clock.now();
      const woken: string[] = [];
      const sleepers = [
        clock.sleep(durationMs(30)).then(() => woken.push('later')),
        clock.sleep(durationMs(10)).then(() => woken.push('sooner')),
      ];
      expect(woken).toEqual([]);
      await advance(durationMs(10));
      await advance(durationMs(30));
      await Promise.all(sleepers);
      expect(woken).toEqual(['sooner', 'later']);
      // Timers are counted by another clock than the time of day, which may lag by a millisecond.
      expect(between(start, clock.now())).toBeGreaterThanOrEqual(29);
    });

    test('no time is slept at once', async () => {
      await opened.port.clock.sleep(durationMs(0));
    });

    test('an aborted sleep ends early and quietly, also one that was aborted before it began', async () => {
      const { clock } = opened.port;
      const controller = new AbortController();
      const sleeping = clock.sleep(hours(1), controller.signal);
      controller.abort();
      await sleeping;
      await clock.sleep(hours(1), controller.signal);
    });
  });
