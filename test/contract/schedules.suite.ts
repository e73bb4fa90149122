/** Contract of `Schedules`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScheduleId, type Scope, nonce, scheduleId, workflowName } from '../../lib/engine/ids.ts';
import { after, days, hours, minutes } from '../../lib/engine/time.ts';
import type { Schedule, Schedules } from '../../lib/ports/schedules.ts';
import { freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const scheduleOf = (scope: Scope, id = 'nightly', facts: Partial<Schedule> = {}): Schedule => ({
  ...scope,
  scheduleId: scheduleId(id),
  incarnation: nonce('first'),
  bodyHash: 'ab'.repeat(32),
  definition: {
    workflowName: workflowName('order'),
    version: 3,
    latestVersionWhenSet: 4,
    input: { deep: [1, 'two', null, { '': 0.5 }] },
    timing: {
      recurrence: { kind: 'cron', cron: '0 3 * * ? *', timeZone: 'Europe/Berlin' },
      startAt: noon,
      endAt: after(noon, days(30)),
    },
    overlap: 'cancel_previous',
    catchUpWindowMs: hours(2),
    isPaused: false,
  },
  setting: 2,
  createdAt: noon,
  updatedAt: after(noon, minutes(3)),
  fires: [{ scheduledAt: noon, at: after(noon, minutes(1)), outcome: 'started', runId: freshRun().runId }],
  lastFailure: { scheduledAt: noon, at: noon, outcome: 'failed', code: 'workflow_archived', message: 'the workflow is archived' },
  revision: 1,
  ...facts,
});

export const schedulesSuite = ({ name, open }: Subject<Schedules>) =>
  describe(`schedules: ${name}`, () => {
    let opened: Opened<Schedules>;
    let schedules: Schedules;
    beforeAll(async () => {
      opened = await open();
      schedules = opened.port;
    });
    afterAll(() => opened.close());

    test('a schedule is read as it was created, and only in its scope', async () => {
      const made = scheduleOf(freshScope());
      const plain = scheduleOf(made, 'plain', {
        definition: {
          workflowName: workflowName('order'),
          timing: { recurrence: { kind: 'rate', rate: '5 minutes', anchor: noon } },
          overlap: 'skip',
          catchUpWindowMs: hours(1),
          isPaused: true,
        },
      });
      expect(await schedules.schedule(made, made.scheduleId)).toBeUndefined();
      for (const each of [made, plain]) {
        expect(await schedules.create(each)).toBe('stored');
        expect(await schedules.schedule(made, each.scheduleId)).toEqual(each);
      }
      expect(await schedules.schedule(freshScope(), made.scheduleId)).toBeUndefined();
    });

    test('a schedule id is stored once', async () => {
      const made = scheduleOf(freshScope());
      await schedules.create(made);
      expect(await schedules.create({ ...made, incarnation: nonce('second') })).toBe('occupied');
      expect(await schedules.schedule(made, made.scheduleId)).toEqual(made);
    });

    test('only the next revision replaces a schedule', async () => {
      const made = scheduleOf(freshScope());
      await schedules.create(made);
      expect(await schedules.replace({ ...made, revision: 3 })).toBe(false);
      expect(await schedules.replace({ ...made, revision: 1 })).toBe(false);
      expect(await schedules.replace({ ...made, revision: 2, incarnation: nonce('second') })).toBe(false);
      const next = { ...made, revision: 2, setting: 9, fires: [] };
      expect(await schedules.replace(next)).toBe(true);
      expect(await schedules.replace(next)).toBe(false);
      expect(await schedules.schedule(made, made.scheduleId)).toEqual(next);
      expect(await schedules.replace(scheduleOf(freshScope(), 'missing', { revision: 2 }))).toBe(false);
    });

    test('only the given incarnation is removed', async () => {
      const made = scheduleOf(freshScope());
      await schedules.create(made);
      await schedules.remove({ ...made, incarnation: nonce('second') });
      expect(await schedules.schedule(made, made.scheduleId)).toEqual(made);
      await schedules.remove(made);
      await schedules.remove(made);
      expect(await schedules.schedule(made, made.scheduleId)).toBeUndefined();
      expect(await schedules.create({ ...made, incarnation: nonce('second') })).toBe('stored');
    });

    test('the schedules of a scope are listed by id, page by page', async () => {
      const scope = freshScope();
      const ids = ['b', 'a', 'd', 'c', 'A'];
      for (const id of ids) await schedules.create(scheduleOf(scope, id));
      const listed: ScheduleId[] = [];
      let position: ScheduleId | undefined;
      do {
        const page = await schedules.list(scope, { limit: 2, ...(position === undefined ? {} : { after: position }) });
        expect(page.schedules.length).toBeLessThanOrEqual(2);
        listed.push(...page.schedules.map((one) => one.scheduleId));
        position = page.next;
      } while (position !== undefined);
      expect(listed).toEqual(['A', 'a', 'b', 'c', 'd']);
      expect(await schedules.list(freshScope(), { limit: 2 })).toEqual({ schedules: [] });
    });

    test('sync marks and registered settings of all scopes are listed until they are deleted', async () => {
      const [one, other] = [scheduleOf(freshScope()), scheduleOf(freshScope(), 'x', { setting: 7 })];
      const setting = ({ projectId, environment, scheduleId: id, incarnation, setting: number }: Schedule) => ({
        projectId,
        environment,
        scheduleId: id,
        incarnation,
        setting: number,
      });
      const ofThisTest = <Of extends Scope>(found: readonly Of[]) =>
        found.filter(({ projectId }) => projectId === one.projectId || projectId === other.projectId);
      for (const each of [one, other, one]) {
        await schedules.markForSync({ ...setting(each), at: noon });
        await schedules.registerSetting(setting(each));
      }
      expect(ofThisTest(await schedules.syncMarks())).toHaveLength(2);
      expect(ofThisTest(await schedules.syncMarks())).toContainEqual({ ...setting(other), at: noon });
      expect(ofThisTest(await schedules.registeredSettings())).toHaveLength(2);
      await schedules.clearSyncMark(setting(one));
      await schedules.clearSyncMark(setting(one));
      await schedules.unregisterSetting(setting(other));
      expect(ofThisTest(await schedules.syncMarks())).toEqual([{ ...setting(other), at: noon }]);
      expect(ofThisTest(await schedules.registeredSettings())).toEqual([setting(one)]);
    });
  });
