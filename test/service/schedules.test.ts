/** Schedules, from the record to the runs: overlap, catch-up, crashes, lost recurrences and concurrent changes. */
import { describe, expect, test } from 'vitest';
import { type ScheduleId, commitNo, scheduleId, workflowName } from '../../lib/engine/ids.ts';
import { scheduleOf } from '../../lib/engine/log/lineage.ts';
import { type DurationMs, days, hours, iso, minutes, seconds } from '../../lib/engine/time.ts';
import type { ScheduleFire } from '../../lib/ports/schedules.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { archiveName } from '../../lib/service/definitions/archive-name.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { changeSchedule, deleteSchedule } from '../../lib/service/schedules/change-schedule.ts';
import { type RequestedTerms, createSchedule } from '../../lib/service/schedules/create-schedule.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { handleFireDeadLetter, fireSchedule } from '../../lib/service/schedules/fire-schedule.ts';
import { getSchedule, listSchedules } from '../../lib/service/schedules/get-schedule.ts';
import { syncSchedules } from '../../lib/service/schedules/sync-schedules.ts';
import { create as recreateWorkflow, requestDeletion, sweep as sweepDeletions } from './deletion-fixture.ts';
import { finished, createTestEnv, scope, workflow } from './test-env.ts';

const id = scheduleId('nightly');
const flow = workflowName('flow');
const hourly: RequestedTerms = {
  workflowName: flow,
  timing: { rate: '1 hour' },
  overlap: 'skip',
  catchUpWindowMs: days(1),
  isPaused: false,
};

/** Crashes the process at the n-th call of a port, before or after the call takes effect. */
const crashing = () => {
  const state = { calls: 0, crashAt: Infinity, isAfter: false };
  const wrapped = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return async (...given: unknown[]): Promise<unknown> => {
          state.calls += 1;
          const crashes = state.calls === state.crashAt;
          if (crashes && !state.isAfter) throw new Unavailable('this process');
          const answer: unknown = await Reflect.apply(member, target, given);
          if (crashes) throw new Unavailable('this process');
          return answer;
        };
      },
    });
  return { state, wrapped };
};

const scheduling = (options: Parameters<typeof createTestEnv>[0] = {}) => {
  const it = createTestEnv(options);
  const { ports, deps, worker } = it;
  const self = {
    ...it,
    create: (terms: Partial<RequestedTerms> = {}, bodyHash = 'h') =>
      createSchedule(worker, { scope, scheduleId: id, bodyHash, terms: { ...hourly, ...terms } }),
    activeSettings: () => ports.recurrences.registrations().map(({ setting }) => setting.setting),
    pass: (time: DurationMs): readonly ScheduleFire[] => {
      ports.clock.advance(time);
      return ports.recurrences.takeDue();
    },
    fire: async (fires: readonly ScheduleFire[]): Promise<void> => {
      for (const each of fires) await fireSchedule(worker, each);
    },
    record: async (of: ScheduleId = id) => {
      const schedule = await ports.schedules.schedule(scope, of);
      if (schedule === undefined) throw new Error(`schedule ${of} does not exist`);
      return schedule;
    },
    outcomes: async () => (await self.record()).fires.map(({ outcome }) => outcome).toReversed(),
    runs: async () => (await ports.index.list(scope, { limit: 100 })).heads,
    sweep: () => syncSchedules(deps, Infinity as never),
  };
  return self;
};
const published = async (options: Parameters<typeof createTestEnv>[0] = {}) => {
  const it = scheduling(options);
  await it.publish(workflow('flow', 'a>b'));
  return it;
};

describe('a fire', () => {
  test('starts one run with its schedule and its time', async () => {
    const it = await published();
    await it.create({ input: { n: 1 } });
    const [fire, ...more] = it.pass(minutes(61));
    if (fire === undefined) throw new Error('nothing was due');
    expect(more).toEqual([]);
    await it.fire([fire, fire]);
    const [head, ...others] = await it.runs();
    if (head === undefined) throw new Error('there is no run');
    expect(others).toEqual([]);
    expect(scheduleOf(head)).toEqual({ scheduleId: id, scheduledAt: fire.scheduledAt });
    expect((await it.record()).fires).toMatchObject([
      { outcome: 'started', runId: head.address.runId, scheduledAt: fire.scheduledAt },
    ]);
    await it.settle();
    const notified = it.ports.notices.statusNotices.at(-1);
    expect(notified).toMatchObject({ status: 'completed', scheduleId: id });
    expect(await getSchedule(it.deps, scope, id)).toMatchObject({
      nextRunAt: fire.scheduledAt + hours(1),
      lastRun: { runId: head.address.runId, status: 'completed' },
    });
  });

  test('starts the latest version, or the pinned version', async () => {
    const it = await published();
    await it.create({ overlap: 'allow' });
    await createSchedule(it.worker, { scope, scheduleId: scheduleId('pinned'), bodyHash: 'h', terms: { ...hourly, version: 1 } });
    await it.publish({ ...workflow('flow', 'a>b'), version: 2 });
    await it.fire(it.pass(minutes(61)));
    const versions = (await it.runs()).map((head) => [scheduleOf(head)?.scheduleId, head.workflow]);
    expect(versions).toHaveLength(2);
    expect(versions).toContainEqual([id, { name: 'flow', version: 2 }]);
    expect(versions).toContainEqual(['pinned', { name: 'flow', version: 1 }]);
  });

  test('delivered twice concurrently starts one run', async () => {
    const it = await published();
    await it.create();
    const [fire] = it.pass(minutes(61));
    if (fire === undefined) throw new Error('nothing was due');
    await Promise.all(Array.from({ length: 8 }, () => fireSchedule(it.worker, fire)));
    expect(await it.runs()).toHaveLength(1);
    expect(await it.outcomes()).toEqual(['started']);
  });

  test('repeated after ten others starts nothing', async () => {
    const it = await published();
    await it.create({ overlap: 'allow' });
    const fires = it.pass(hours(13));
    expect(fires.length).toBeGreaterThan(11);
    await it.fire(fires);
    await it.fire(fires);
    expect(await it.runs()).toHaveLength(fires.length);
    expect((await it.record()).fires).toHaveLength(10);
  });

  test('after its catch-up window starts nothing, and a notice is sent', async () => {
    const it = await published();
    await it.create({ catchUpWindowMs: minutes(5) });
    const [fire] = it.pass(minutes(66));
    if (fire === undefined) throw new Error('nothing was due');
    await it.fire([fire]);
    expect(await it.runs()).toEqual([]);
    expect(await it.record()).toMatchObject({ fires: [{ outcome: 'missed' }], lastFailure: { code: 'missed' } });
    expect(it.ports.notices.scheduleFailures).toMatchObject([{ scheduleId: id, code: 'missed', workflowName: 'flow' }]);
  });

  test('of an archived workflow starts nothing, is recorded and notified; the next fire may start a run', async () => {
    const it = await published();
    await it.create();
    await archiveName({ ...it.deps, store: it.deps.workflows }, scope, flow);
    const fires = it.pass(minutes(61));
    await it.fire([...fires, ...fires]);
    expect(await it.runs()).toEqual([]);
    const failed = {
      outcome: 'failed',
      code: 'workflow_archived',
      message: 'the workflow is archived; publish a version or delete the schedule',
    };
    expect(await it.record()).toMatchObject({ fires: [failed], lastFailure: failed });
    expect(it.ports.notices.scheduleFailures).toMatchObject([{ code: 'workflow_archived' }]);
  });

  test('of a workflow deleted during the schedule’s creation does not start a new workflow of that name', async () => {
    const it = await published();
    // The deletion lists schedules before this schedule is stored.
    const store = it.ports.schedules.create.bind(it.ports.schedules);
    it.ports.schedules.create = async (schedule) => {
      expect(await requestDeletion(it)).toMatchObject({ kind: 'deleting' });
      return store(schedule);
    };
    expect(await it.create()).toMatchObject({ kind: 'created' });
    await sweepDeletions(it);
    expect(await recreateWorkflow(it)).toMatchObject({ kind: 'published' });
    await it.fire(it.pass(minutes(61)));
    expect(await it.record()).toMatchObject({ fires: [{ outcome: 'failed', code: 'workflow_not_found' }] });
    expect(await it.runs()).toEqual([]);
    // A change of the schedule assigns it to the new workflow.
    await changeSchedule(it.worker, scope, id, { workflowName: flow });
    await it.fire(it.pass(hours(1)));
    expect(await it.outcomes()).toEqual(['failed', 'started']);
  });

  test('in the dead-letter queue that no worker handled is sent again within the catch-up window', async () => {
    const it = await published();
    await it.create();
    const [first] = it.pass(minutes(61));
    if (first === undefined) throw new Error('nothing was due');
    for (let letter = 0; letter < 3; letter += 1) {
      await handleFireDeadLetter(it.deps, first);
      expect(it.ports.jobs.fires.splice(0)).toEqual([first]);
      it.ports.clock.advance(minutes(80));
    }
    expect(it.ports.notices.scheduleFailures).toEqual([]);
    await it.fire([first]);
    expect(await it.outcomes()).toEqual(['started']);
  });

  test('in the dead-letter queue after the catch-up window is recorded as failed, and does not block the next', async () => {
    const it = await published();
    await it.create();
    const [first] = it.pass(minutes(61));
    if (first === undefined) throw new Error('nothing was due');
    it.ports.clock.advance(days(8));
    await handleFireDeadLetter(it.deps, first);
    await handleFireDeadLetter(it.deps, first);
    expect(it.ports.jobs.fires).toEqual([]);
    expect(await it.record()).toMatchObject({ fires: [{ outcome: 'failed', code: 'lost' }] });
    expect(it.ports.notices.scheduleFailures).toHaveLength(1);
    await it.fire(it.pass(hours(1)).slice(-1));
    expect(await it.outcomes()).toEqual(['failed', 'started']);
  });

  test('redelivered after a crash at any call starts one run', async () => {
    const wrapping =
      ({ wrapped }: ReturnType<typeof crashing>) =>
      (deps: Deps) => ({
        ...deps,
        schedules: wrapped(deps.schedules),
        index: wrapped(deps.index),
        reservations: wrapped(deps.reservations),
      });
    const counted = crashing();
    const whole = await published({ wrap: wrapping(counted) });
    await whole.create();
    counted.state.calls = 0;
    await whole.fire(whole.pass(minutes(61)));
    const { calls } = counted.state;
    expect(calls).toBeGreaterThan(4);
    for (let at = 1; at <= calls; at += 1) {
      for (const isAfter of [false, true]) {
        const crashes = crashing();
        const { state } = crashes;
        const it = await published({ wrap: wrapping(crashes) });
        await it.create();
        const [fire] = it.pass(minutes(61));
        if (fire === undefined) throw new Error('nothing was due');
        Object.assign(state, { calls: 0, crashAt: at, isAfter });
        await fireSchedule(it.worker, fire).catch((error: unknown) => expect(error).toBeInstanceOf(Unavailable));
        await fireSchedule(it.worker, fire);
        expect(await it.runs(), `${at} ${isAfter}`).toHaveLength(1);
        expect(await it.outcomes(), `${at} ${isAfter}`).toEqual(['started']);
      }
    }
  });
});

describe('an open run of the schedule', () => {
  const twice = async (overlap: RequestedTerms['overlap']) => {
    const it = await published();
    await it.create({ overlap });
    await it.fire(it.pass(minutes(61)));
    await it.fire(it.pass(hours(1)));
    return it;
  };

  test('makes the next fire skip, which is not a failure; after its end a fire starts a run', async () => {
    const it = await twice('skip');
    expect(await it.outcomes()).toEqual(['started', 'skipped']);
    expect(await it.runs()).toHaveLength(1);
    expect(await it.record()).not.toHaveProperty('lastFailure');
    await it.settle();
    await it.fire(it.pass(hours(1)));
    expect(await it.outcomes()).toEqual(['started', 'skipped', 'started']);
  });

  test('does not matter if overlaps are allowed', async () => {
    const it = await twice('allow');
    expect(await it.runs()).toHaveLength(2);
  });

  test('is cancelled if the policy says cancel_previous', async () => {
    const it = await twice('cancel_previous');
    const [second, first] = await Promise.all((await it.runs()).map(({ address }) => it.fold(address)));
    expect([first?.state.progress.status, second?.state.progress.status]).toEqual(['cancelled', 'pending']);
    expect(it.ports.notices.statusNotices).toMatchObject([{ status: 'cancelled', scheduleId: id }]);
  });

  test('a fire that is still starting counts as an open run', async () => {
    const it = await published();
    await it.create();
    const [first, second] = it.pass(minutes(121));
    if (first === undefined || second === undefined) throw new Error('nothing was due');
    const { state, wrapped } = crashing();
    const crashes = { ...it.worker, deps: { ...it.deps, reservations: wrapped(it.deps.reservations) } satisfies Deps };
    state.crashAt = 1;
    await expect(fireSchedule(crashes, first)).rejects.toThrow(Unavailable);
    await it.fire([second]);
    expect(await it.outcomes()).toEqual(['starting', 'skipped']);
    await it.fire([first]);
    expect(await it.outcomes()).toEqual(['started', 'skipped']);
    expect(await it.runs()).toHaveLength(1);
  });

  test('a run that starts after its successor is also cancelled', async () => {
    const it = await published();
    await it.create({ overlap: 'cancel_previous' });
    const [first, second] = it.pass(minutes(121));
    if (first === undefined || second === undefined) throw new Error('nothing was due');
    const { state, wrapped } = crashing();
    state.crashAt = 1;
    await expect(
      fireSchedule({ ...it.worker, deps: { ...it.deps, reservations: wrapped(it.deps.reservations) } }, first),
    ).rejects.toThrow(Unavailable);
    await it.fire([second, first]);
    const statuses = await Promise.all(
      (await it.runs()).map(async (head) => [scheduleOf(head)?.scheduledAt, (await it.fold(head.address)).state.progress.status]),
    );
    expect(statuses).toContainEqual([first.scheduledAt, 'cancelled']);
    expect(statuses).toContainEqual([second.scheduledAt, 'pending']);
  });
});

describe('a creation', () => {
  test('reports every error before it writes anything', async () => {
    const it = scheduling();
    expect(await it.create({ timing: { cron: '0 0 * *', timeZone: 'x' } })).toMatchObject({
      kind: 'timing_invalid',
      errors: { length: 2 },
    });
    expect(await it.create()).toEqual({ kind: 'no_active_deployment' });
    await it.publish({ ...workflow('flow', 'a>b'), options: { args: [{ name: 'n', type: 'number', required: true }] } });
    expect(await it.create()).toMatchObject({ kind: 'input_invalid' });
    expect(await it.create({ version: 7, input: { n: 1 } })).toEqual({ kind: 'version_not_found' });
    await archiveName({ ...it.deps, store: it.deps.workflows }, scope, flow);
    expect(await it.create({ input: { n: 1 } })).toEqual({ kind: 'workflow_archived' });
    expect(await it.create({ version: 1, input: { n: 1 } })).toEqual({ kind: 'workflow_archived' });
    expect(await listSchedules(it.deps, scope, { limit: 10 })).toEqual({ schedules: [] });
    expect(it.activeSettings()).toEqual([]);
    expect(await it.ports.schedules.syncMarks()).toEqual([]);
  });

  test('a repeated creation returns the same schedule; another body with its id is refused', async () => {
    const it = await published();
    expect(await it.create()).toMatchObject({ kind: 'created', isNew: true });
    expect(await it.create()).toMatchObject({ kind: 'created', isNew: false });
    expect(await it.create({ overlap: 'allow' }, 'another')).toEqual({ kind: 'schedule_exists' });
    expect(it.activeSettings()).toEqual([1]);
  });

  test.each(['create', 'change', 'pause', 'resume', 'delete'] as const)(
    'after a crash at any call of %s, the sweep synchronizes the record and the scheduler',
    async (what) => {
      const act = async (it: Awaited<ReturnType<typeof published>>): Promise<unknown> => {
        switch (what) {
          case 'create':
            return it.create();
          case 'change':
            return changeSchedule(it.worker, scope, id, { rate: '2 hours' });
          case 'pause':
            return changeSchedule(it.worker, scope, id, { isPaused: true });
          case 'resume':
            return changeSchedule(it.worker, scope, id, { isPaused: false });
          case 'delete':
            return deleteSchedule(it.deps, scope, id);
        }
      };
      for (let at = 1; at < 40; at += 1) {
        for (const isAfter of [false, true]) {
          const { state, wrapped } = crashing();
          const it = await published({
            wrap: (deps) => ({ ...deps, schedules: wrapped(deps.schedules), recurrences: wrapped(deps.recurrences) }),
          });
          if (what !== 'create') await it.create({ isPaused: what === 'resume' });
          Object.assign(state, { calls: 0, crashAt: at, isAfter });
          const died = await act(it).then(
            () => false,
            () => true,
          );
          state.crashAt = Infinity;
          it.ports.clock.advance(minutes(3));
          await it.sweep();
          const schedule = await it.ports.schedules.schedule(scope, id);
          const wanted = schedule === undefined || schedule.definition.isPaused ? [] : [schedule.setting];
          expect(it.activeSettings(), `${at} ${isAfter}`).toEqual(wanted);
          expect((await it.ports.schedules.registeredSettings()).map(({ setting }) => setting)).toEqual(wanted);
          expect(await it.ports.schedules.syncMarks()).toEqual([]);
          if (!died && state.calls < at) return;
        }
      }
      throw new Error('the crashes do not end');
    },
  );

  test('a schedule paused while its recurrence is set keeps no recurrence', async () => {
    const it = await published();
    const { recurrences } = it.deps;
    const set = async (recurrence: Parameters<typeof recurrences.set>[0]): Promise<void> => {
      await recurrences.set(recurrence);
      const current = await it.record();
      await it.ports.schedules.replace({
        ...current,
        definition: { ...current.definition, isPaused: true },
        revision: current.revision + 1,
      });
    };
    const deps = {
      ...it.deps,
      recurrences: { set, remove: (of: Parameters<typeof recurrences.remove>[0]) => recurrences.remove(of) },
    };
    await createSchedule({ ...it.worker, deps }, { scope, scheduleId: id, bodyHash: 'h', terms: hourly });
    expect(it.activeSettings()).toEqual([]);
    expect(await it.ports.schedules.registeredSettings()).toEqual([]);
  });

  test('the sweep ignores a setting that a request is changing', async () => {
    const it = await published();
    const { state, wrapped } = crashing();
    state.crashAt = 1;
    const deps = { ...it.deps, recurrences: wrapped(it.deps.recurrences) };
    await expect(createSchedule({ ...it.worker, deps }, { scope, scheduleId: id, bodyHash: 'h', terms: hourly })).rejects.toThrow(
      Unavailable,
    );
    it.ports.clock.advance(seconds(100));
    await it.sweep();
    expect(it.activeSettings()).toEqual([]);
    it.ports.clock.advance(seconds(30));
    await it.sweep();
    expect(it.activeSettings()).toEqual([1]);
  });

  test('a lost recurrence is set again within an hour, and a rate keeps its anchor', async () => {
    const it = await published();
    await it.create();
    it.ports.clock.advance(minutes(7));
    it.ports.recurrences.clear();
    await it.sweep();
    expect(it.activeSettings()).toEqual([]);
    it.ports.clock.advance(minutes(53));
    await it.sweep();
    expect(it.activeSettings()).toEqual([1]);
    const [fire] = it.pass(hours(1));
    expect(iso(fire?.scheduledAt ?? it.ports.clock.now())).toBe('2026-01-01T02:00:00.000Z');
  });
});

describe('a change', () => {
  test('takes effect at once: a fire of the old setting starts nothing, and its recurrence is removed', async () => {
    const it = await published();
    await it.create();
    const old = it.pass(minutes(61));
    expect(await changeSchedule(it.worker, scope, id, { cron: '30 * * * ? *', endAt: null })).toMatchObject({ kind: 'changed' });
    expect(it.activeSettings()).toEqual([2]);
    await it.fire(old);
    expect(await it.runs()).toEqual([]);
    expect((await it.ports.schedules.syncMarks()).map(({ setting }) => setting)).toEqual([1]);
    it.ports.clock.advance(minutes(3));
    await it.sweep();
    expect(it.activeSettings()).toEqual([2]);
    await it.fire(it.pass(hours(1)));
    expect(await it.runs()).toHaveLength(1);
  });

  test('that does not affect the recurrence keeps the setting', async () => {
    const it = await published();
    await it.create();
    await changeSchedule(it.worker, scope, id, { overlap: 'allow', input: { n: 2 } });
    expect(await it.record()).toMatchObject({ setting: 1, definition: { overlap: 'allow', input: { n: 2 } } });
  });

  test('pauses and resumes: fires missed meanwhile are not caught up', async () => {
    const it = await published();
    await it.create();
    const late = it.pass(minutes(61));
    await changeSchedule(it.worker, scope, id, { isPaused: true });
    expect(await getSchedule(it.deps, scope, id)).not.toHaveProperty('nextRunAt');
    await it.fire(late);
    expect(it.pass(hours(5))).toEqual([]);
    await changeSchedule(it.worker, scope, id, { isPaused: false });
    await it.fire(late);
    expect(await it.runs()).toEqual([]);
    await it.fire(it.pass(hours(1)));
    expect(await it.runs()).toHaveLength(1);
  });

  test('with invalid timing is refused, and changes nothing', async () => {
    const it = await published();
    await it.create();
    const before = await it.record();
    expect(await changeSchedule(it.worker, scope, id, { timeZone: 'Europe/Berlin' })).toMatchObject({ kind: 'timing_invalid' });
    expect(await changeSchedule(it.worker, scope, id, { workflowName: workflowName('other') })).toMatchObject({
      kind: 'no_active_deployment',
    });
    expect(await changeSchedule(it.worker, scope, scheduleId('other'), {})).toEqual({ kind: 'not_found' });
    expect(await it.record()).toEqual(before);
  });

  test('a deleted schedule starts nothing, and a new schedule with its id is distinct', async () => {
    const it = await published();
    await it.create();
    const old = it.pass(minutes(61));
    await it.fire(old);
    await it.settle();
    expect(await deleteSchedule(it.deps, scope, id)).toEqual({ kind: 'deleted' });
    expect(await deleteSchedule(it.deps, scope, id)).toEqual({ kind: 'not_found' });
    expect(it.activeSettings()).toEqual([]);
    await it.create();
    await it.fire(old);
    expect(await it.runs()).toHaveLength(1);
    expect((await it.record()).fires).toEqual([]);
  });

  test('concurrent changes all take effect', async () => {
    const it = await published();
    await it.create();
    await Promise.all([
      changeSchedule(it.worker, scope, id, { rate: '3 hours' }),
      changeSchedule(it.worker, scope, id, { overlap: 'allow' }),
      changeSchedule(it.worker, scope, id, { catchUpWindowMs: hours(2) }),
    ]);
    const record = await it.record();
    expect(record).toMatchObject({
      definition: { timing: { recurrence: { rate: '3 hours' } }, overlap: 'allow', catchUpWindowMs: hours(2) },
    });
    expect(it.activeSettings()).toEqual([record.setting]);
  });
});

test('a run that a client cancelled does not block the next', async () => {
  const it = await published({ answer: (node) => finished(node) });
  await it.create();
  await it.fire(it.pass(minutes(61)));
  const [head] = await it.runs();
  if (head === undefined) throw new Error('there is no run');
  expect(head.commit.number).toBe(commitNo(1));
  await cancelRun(it.worker, head.address);
  await it.fire(it.pass(hours(1)));
  expect(await it.outcomes()).toEqual(['started', 'started']);
});
