import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseExpression } from '../../lib/local/scheduler/expression.ts';
import { createRunner, type Delivery } from '../../lib/local/scheduler/runner.ts';
import { definitionShape, openScheduleStore } from '../../lib/local/scheduler/schedule-store.ts';
import { deploySchedules, newSchedule } from '../../lib/local/scheduler/service.ts';
import { freshFolder, templateOf } from './stacks.ts';

const at = (text: string): number => Date.parse(text);
const start = at('2026-03-10T12:00:00Z');

describe('schedule expressions', () => {
  const next = (expression: string, from: number, timezone?: string): string | undefined => {
    const timing = parseExpression(expression, timezone);
    const moment = timing?.isOneTime === true ? timing.first(from) : timing?.next(from, from);
    return moment === undefined ? undefined : new Date(moment).toISOString();
  };

  test.each([
    ['at(2026-03-11T08:30:00)', undefined, '2026-03-11T08:30:00.000Z'],
    ['at(2026-07-11T08:30:00)', 'Europe/Berlin', '2026-07-11T06:30:00.000Z'],
    ['rate(1 minute)', undefined, '2026-03-10T12:01:00.000Z'],
    ['rate(2 hours)', undefined, '2026-03-10T14:00:00.000Z'],
    ['cron(0 18 ? * MON-FRI *)', undefined, '2026-03-10T18:00:00.000Z'],
    ['cron(15 10 ? * 1 *)', undefined, '2026-03-15T10:15:00.000Z'],
    ['cron(0 8 1 * ? *)', undefined, '2026-04-01T08:00:00.000Z'],
    ['cron(0 8 L * ? *)', undefined, '2026-03-31T08:00:00.000Z'],
    ['cron(0 0 1 1 ? 2028)', undefined, '2028-01-01T00:00:00.000Z'],
    ['cron(30 9 ? * * *)', 'America/New_York', '2026-03-10T13:30:00.000Z'],
    ['rate(0 minutes)', undefined, undefined],
    ['cron(* * * *)', undefined, undefined],
    ['every day', undefined, undefined],
  ])('%s in %s', (expression, timezone, expected) => {
    expect(next(expression, start, timezone)).toBe(expected);
  });

  test('a rate skips missed times', () => {
    expect(parseExpression('rate(1 minute)')?.next(start, start + 10 * 60_000 + 1)).toBe(start + 11 * 60_000);
  });
});

const definition = (ScheduleExpression: string, more: object = {}, target: object = {}) =>
  definitionShape.parse({
    ScheduleExpression,
    ActionAfterCompletion: 'DELETE',
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: { Arn: 'arn:queue', RoleArn: 'arn:role', Input: 'wake', ...target },
    ...more,
  });

/** A store with one schedule, and a runner with a manual clock. */
function house(expression: string, options: { fails?: number; target?: object; more?: object; file?: string } = {}) {
  const store = openScheduleStore(options.file ?? join(freshFolder(), 's.sqlite'));
  const name = { group: 'g', name: 'one' };
  const schedule = newSchedule(name, definition(expression, options.more, options.target), start);
  if (schedule !== undefined) store.put(schedule);
  const clock = { now: start };
  const delivered: Delivery[] = [];
  const warned: string[] = [];
  let failures = options.fails ?? 0;
  const runner = createRunner({
    store,
    now: () => clock.now,
    warn: (line) => void warned.push(line),
    async deliver(delivery) {
      if (failures-- > 0) throw new Error('target is down');
      delivered.push(delivery);
    },
  });
  return { store, name, clock, runner, delivered, warned };
}

describe('the scheduler', () => {
  test('fires a one-time schedule when it is due, and deletes it', async () => {
    const { store, name, clock, runner, delivered } = house('at(2026-03-10T12:05:00)');
    await runner.fireDue();
    expect(delivered).toEqual([]);
    clock.now = at('2026-03-10T12:05:00Z');
    await runner.fireDue();
    await runner.fireDue();
    expect(delivered).toMatchObject([{ input: 'wake', target: { Arn: 'arn:queue' } }]);
    expect(store.get(name)).toBeUndefined();
  });

  test('keeps a one-time schedule without deletion after completion, and never fires it again', async () => {
    const { store, name, clock, runner, delivered } = house('at(2026-03-10T12:05:00)', {
      more: { ActionAfterCompletion: 'NONE' },
    });
    clock.now = at('2026-03-10T13:00:00Z');
    await runner.fireDue();
    await runner.fireDue();
    expect(delivered).toHaveLength(1);
    expect(store.get(name)).toMatchObject({ dueAt: undefined });
  });

  test('fires schedules that became due while the cloud was stopped', async () => {
    const file = join(freshFolder(), 's.sqlite');
    const before = house('at(2026-03-10T12:05:00)', { file });
    before.store.close();
    const after = openScheduleStore(file);
    const delivered: string[] = [];
    const runner = createRunner({
      store: after,
      now: () => at('2026-03-12T00:00:00Z'),
      warn: () => {},
      deliver: async ({ input }) => void delivered.push(input),
    });
    await runner.fireDue();
    expect(delivered).toEqual(['wake']);
    after.close();
  });

  test('fires a rate schedule at its interval', async () => {
    const { clock, runner, delivered } = house('rate(1 minute)');
    for (const second of [0, 30, 60, 90, 120]) {
      clock.now = start + second * 1_000;
      await runner.fireDue();
    }
    expect(delivered).toHaveLength(3);
  });

  test('retries a failed delivery with growing delays', async () => {
    const { store, name, clock, runner, delivered, warned } = house('at(2026-03-10T12:00:00)', { fails: 2 });
    await runner.fireDue();
    expect(store.get(name)).toMatchObject({ failures: 1, tryAt: start + 1_000 });
    clock.now = start + 1_000;
    await runner.fireDue();
    expect(store.get(name)).toMatchObject({ failures: 2, tryAt: start + 3_000 });
    clock.now = start + 3_000;
    await runner.fireDue();
    expect(delivered).toHaveLength(1);
    expect(warned).toEqual(Array(2).fill('schedule one: target is down'));
  });

  test('gives up when its retries are used up', async () => {
    const { store, name, runner, delivered, warned } = house('at(2026-03-10T12:00:00)', {
      fails: 1,
      target: { RetryPolicy: { MaximumRetryAttempts: 0 } },
    });
    await runner.fireDue();
    expect([delivered.length, store.get(name)]).toEqual([0, undefined]);
    expect(warned).toEqual(['schedule one: target is down; given up']);
  });

  test('fills in the context attributes', async () => {
    const { runner, delivered } = house('at(2026-03-10T12:00:00)', {
      target: { Input: '<aws.scheduler.scheduled-time> <aws.scheduler.attempt-number> <aws.scheduler.schedule-arn>' },
    });
    await runner.fireDue();
    expect(delivered[0]?.input).toBe('2026-03-10T12:00:00Z 1 arn:aws:scheduler:us-east-1:000000000000:schedule/g/one');
  });

  test('a schedule that is deleted while it fires stays deleted', async () => {
    const { store, name, runner } = house('rate(1 minute)');
    const firing = runner.fireDue();
    store.delete(name);
    await firing;
    expect(store.get(name)).toBeUndefined();
  });

  test("the template's schedules come and go with the template, those of functions stay", () => {
    const { store } = house('at(2026-03-10T12:05:00)');
    const sweep = { Type: 'AWS::Scheduler::Schedule', Properties: { Name: 'sweep', ...definition('rate(1 minute)') } };
    deploySchedules(templateOf({ Sweep: sweep }), store, start);
    expect(store.list(undefined, '').map(({ name }) => name)).toEqual(['sweep', 'one']);
    deploySchedules(templateOf({}), store, start);
    expect(store.list(undefined, '').map(({ name }) => name)).toEqual(['one']);
  });
});
