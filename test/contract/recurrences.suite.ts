/** What every scheduler of recurring alarms must do. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Timing } from '../../lib/engine/schedule/timing.ts';
import { type Instant, after, days, hours, minutes } from '../../lib/engine/time.ts';
import type { Recurrence, Recurrences } from '../../lib/ports/recurrences.ts';
import { settingOf } from '../../lib/service/settle-schedules.ts';
import { freshScope, noon } from './samples.ts';
import { scheduleOf } from './schedules.suite.ts';
import type { Opened, Subject } from './subject.ts';

/** A scheduler, and what it holds: whose, and for what. */
export interface Held {
  readonly recurrences: Recurrences;
  readonly held: () => Promise<readonly Pick<Recurrence, 'of'>[]>;
}

export const recurrenceOf = (timing: Timing, firstAt: Instant, facts: Partial<Recurrence['of']> = {}): Recurrence => ({
  of: { ...settingOf(scheduleOf(freshScope())), ...facts },
  timing,
  firstAt,
  deliveredWithin: hours(2),
});

export const recurrencesSuite = ({ name, open }: Subject<Held>) =>
  describe(`recurrences: ${name}`, () => {
    let opened: Opened<Held>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    const everyHour: Timing = { recurrence: { kind: 'rate', rate: '1 hour', anchor: noon } };
    const everyNight: Timing = {
      recurrence: { kind: 'cron', cron: '0 3 * * ? *', timeZone: 'Europe/Berlin' },
      endAt: after(noon, days(9)),
    };

    test('each setting is one alarm, set once however often', async () => {
      const { recurrences, held } = opened.port;
      const first = recurrenceOf(everyHour, after(noon, hours(1)));
      const next = { ...first, of: { ...first.of, setting: first.of.setting + 1 }, timing: everyNight };
      for (const each of [first, first, next]) await recurrences.set(each);
      await recurrences.set({ ...first, timing: everyNight, firstAt: after(noon, minutes(2)) });
      const mine = (await held()).filter(({ of }) => of.projectId === first.of.projectId).map(({ of }) => of);
      expect(mine).toHaveLength(2);
      expect(mine).toEqual(expect.arrayContaining([first.of, next.of]));
    });

    test('one is removed, once more changes nothing, and the others stay', async () => {
      const { recurrences, held } = opened.port;
      const [one, other] = [recurrenceOf(everyHour, after(noon, hours(1))), recurrenceOf(everyNight, after(noon, hours(13)))];
      await recurrences.set(one);
      await recurrences.set(other);
      await recurrences.remove(one.of);
      await recurrences.remove(one.of);
      const whose = (await held()).map(({ of }) => of.projectId);
      expect(whose).toContain(other.of.projectId);
      expect(whose).not.toContain(one.of.projectId);
      await recurrences.set(one);
      expect((await held()).map(({ of }) => of.projectId)).toContain(one.of.projectId);
    });
  });
