/** Contract of `Clock`. */
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

    test('a sleep ends after its time, and a shorter sleep ends first', async () => {
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
      // Timers use another clock than the time of day, which may be a millisecond behind.
      expect(between(start, clock.now())).toBeGreaterThanOrEqual(29);
    });

    test('a sleep of 0 ms ends at once', async () => {
      await opened.port.clock.sleep(durationMs(0));
    });

    test('an aborted sleep resolves at once, also if the signal was aborted before', async () => {
      const { clock } = opened.port;
      const controller = new AbortController();
      const sleeping = clock.sleep(hours(1), controller.signal);
      controller.abort();
      await sleeping;
      await clock.sleep(hours(1), controller.signal);
    });
  });
