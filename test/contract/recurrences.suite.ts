/** Contract of `Recurrences`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Timing } from '../../lib/engine/schedule/timing.ts';
import { type Instant, after, days, hours, minutes } from '../../lib/engine/time.ts';
import type { Recurrence, Recurrences } from '../../lib/ports/schedules.ts';
import { settingOf } from '../../lib/service/schedules/sync-schedules.ts';
import { freshScope, noon } from './samples.ts';
import { scheduleOf } from './schedules.suite.ts';
import type { Opened, Subject } from './subject.ts';

/** A scheduler and its recurrences. */
export interface RecurrencesUnderTest {
  readonly recurrences: Recurrences;
  readonly pending: () => Promise<readonly Pick<Recurrence, 'setting'>[]>;
}

export const recurrenceOf = (timing: Timing, firstAt: Instant, facts: Partial<Recurrence['setting']> = {}): Recurrence => ({
  setting: { ...settingOf(scheduleOf(freshScope())), ...facts },
  timing,
  firstAt,
  maxDeliveryAge: hours(2),
});

export const recurrencesSuite = ({ name, open }: Subject<RecurrencesUnderTest>) =>
  describe(`recurrences: ${name}`, () => {
    let opened: Opened<RecurrencesUnderTest>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    const everyHour: Timing = { recurrence: { kind: 'rate', rate: '1 hour', anchor: noon } };
    const everyNight: Timing = {
      recurrence: { kind: 'cron', cron: '0 3 * * ? *', timeZone: 'Europe/Berlin' },
      endAt: after(noon, days(9)),
    };

    test('each setting has one recurrence, also after repeated calls', async () => {
      const { recurrences, pending } = opened.port;
      const first = recurrenceOf(everyHour, after(noon, hours(1)));
      const next = { ...first, setting: { ...first.setting, setting: first.setting.setting + 1 }, timing: everyNight };
      for (const each of [first, first, next]) await recurrences.set(each);
      await recurrences.set({ ...first, timing: everyNight, firstAt: after(noon, minutes(2)) });
      const mine = (await pending())
        .filter(({ setting }) => setting.projectId === first.setting.projectId)
        .map(({ setting }) => setting);
      expect(mine).toHaveLength(2);
      expect(mine).toEqual(expect.arrayContaining([first.setting, next.setting]));
    });

    test('a recurrence is removed once, and others are not affected', async () => {
      const { recurrences, pending } = opened.port;
      const [one, other] = [recurrenceOf(everyHour, after(noon, hours(1))), recurrenceOf(everyNight, after(noon, hours(13)))];
      await recurrences.set(one);
      await recurrences.set(other);
      await recurrences.remove(one.setting);
      await recurrences.remove(one.setting);
      const whose = (await pending()).map(({ setting }) => setting.projectId);
      expect(whose).toContain(other.setting.projectId);
      expect(whose).not.toContain(one.setting.projectId);
      await recurrences.set(one);
      expect((await pending()).map(({ setting }) => setting.projectId)).toContain(one.setting.projectId);
    });
  });
