/** Contract of `Timers`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commitNo, firstAttempt } from '../../lib/engine/ids.ts';
import { type Instant, after, days, instant } from '../../lib/engine/time.ts';
import type { Job, Timers } from '../../lib/ports/jobs.ts';
import { bundleNode, freshRun, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface TimersUnderTest {
  readonly timers: Timers;
  /** The timers that have not fired. */
  pending(): Promise<readonly { readonly at: Instant; readonly job: Job }[]>;
}

/** The clock of the subject is at `noon`. */
export const timersSuite = ({ name, open }: Subject<TimersUnderTest>) =>
  describe(`timers: ${name}`, () => {
    let opened: Opened<TimersUnderTest>;
    let subject: TimersUnderTest;
    beforeAll(async () => {
      opened = await open();
      subject = opened.port;
    });
    afterAll(() => opened.close());

    const wholeSecond = instant(Math.ceil(noon / 1_000) * 1_000);
    const wake = (): Job => ({ kind: 'wake', run: freshRun(), commit: commitNo(2), ...bundleNode, attempt: firstAttempt });

    test('a timer has its job and its time, for any time ahead', async () => {
      const near = { at: after(wholeSecond, days(1)), job: wake() };
      const far = { at: after(wholeSecond, days(365)), job: wake() };
      await subject.timers.set({ name: 'near', ...near });
      await subject.timers.set({ name: 'far', ...far });
      expect(await subject.pending()).toEqual(expect.arrayContaining([near, far]));
    });

    test('a repeated name does not change the timer', async () => {
      const first = { at: after(wholeSecond, days(2)), job: wake() };
      const before = (await subject.pending()).length;
      await subject.timers.set({ name: 'once', ...first });
      await subject.timers.set({ name: 'once', ...first });
      await subject.timers.set({ name: 'once', at: after(wholeSecond, days(3)), job: wake() });
      const pending = await subject.pending();
      expect(pending).toHaveLength(before + 1);
      expect(pending).toContainEqual(first);
    });

    test('names of any length and with any characters are distinct', async () => {
      const before = (await subject.pending()).length;
      const long = `${'x'.repeat(300)}#@[] ü`;
      for (const name of [long, `${long}1`]) await subject.timers.set({ name, at: after(wholeSecond, days(2)), job: wake() });
      expect(await subject.pending()).toHaveLength(before + 2);
    });
  });
