/** The due times that the pages of schedules show, and the requests that their form makes. */
import { describe, expect, test } from 'vitest';
import { changesIn, formOf, newScheduleIn } from '../../lib/console/schedules/schedule-form.ts';
import { previewOf, upcomingOf } from '../../lib/console/schedules/upcoming.ts';
import { isFailing } from '../../lib/console/schedules/is-failing.ts';

const now = Date.parse('2026-11-26T12:00:00Z');
const isoOf = (times: readonly number[]): readonly string[] => times.map((at) => new Date(at).toISOString());

const stored = {
  scheduleId: 'nightly',
  workflowName: 'report',
  cron: '0 3 ? * MON-FRI *',
  timeZone: 'Europe/Berlin',
  overlap: 'skip' as const,
  catchUpSeconds: 86_400,
  paused: false,
  createdAt: '2026-11-20T00:00:00.000Z',
  updatedAt: '2026-11-20T00:00:00.000Z',
  nextRunAt: '2026-11-27T02:00:00.000Z',
  input: { lines: 5 },
  recentFires: [],
};

describe('due times', () => {
  test('a cron expression has ten, in the time zone of the schedule', () => {
    const times = isoOf(upcomingOf(stored, now));
    expect(times).toHaveLength(10);
    expect(times.slice(0, 2)).toEqual(['2026-11-27T02:00:00.000Z', '2026-11-30T02:00:00.000Z']);
  });

  test('the clock change in the time zone moves them', () => {
    const times = isoOf(upcomingOf({ cron: '0 3 * * ? *', timeZone: 'Europe/Berlin' }, Date.parse('2027-03-27T12:00:00Z')));
    // 3 o'clock exists on the day of the change, one hour earlier in UTC.
    expect(times[0]).toBe('2027-03-28T01:00:00.000Z');
  });

  test('a rate counts from the next due time that the server has', () => {
    const times = isoOf(upcomingOf({ rate: '90 minutes', nextRunAt: '2026-11-26T12:10:00.000Z' }, now));
    expect(times.slice(0, 2)).toEqual(['2026-11-26T12:10:00.000Z', '2026-11-26T13:40:00.000Z']);
  });

  test('a paused rate has none, because only the server knows from when it counts', () => {
    expect(upcomingOf({ rate: '90 minutes' }, now)).toEqual([]);
  });

  test('an end leaves out what comes after it', () => {
    expect(isoOf(upcomingOf({ ...stored, endAt: '2026-11-30T00:00:00.000Z' }, now))).toEqual(['2026-11-27T02:00:00.000Z']);
  });

  test('a preview has the errors of the engine instead', () => {
    const { times, errors } = previewOf({ cron: '0 25 * * *', timeZone: 'Mars/Olympus' }, now);
    expect(times).toEqual([]);
    expect(errors.map(({ pointer }) => pointer)).toEqual(['/cron', '/timeZone']);
  });

  test('a preview understands the five fields of Unix cron', () => {
    expect(isoOf(previewOf({ cron: '0 3 * * 1-5', timeZone: 'Europe/Berlin' }, now).times)).toEqual(
      isoOf(upcomingOf(stored, now)),
    );
  });
});

describe('the form', () => {
  test('without a change it sends nothing', () => {
    expect(changesIn(formOf(stored), stored)).toEqual({});
  });

  test('it sends only what differs', () => {
    const form = { ...formOf(stored), input: '{"lines": 6}', overlap: 'allow' };
    expect(changesIn(form, stored)).toEqual({ input: { lines: 6 }, overlap: 'allow' });
  });

  test('a rate replaces a cron expression, and its time zone is not sent', () => {
    expect(changesIn({ ...formOf(stored), kind: 'rate', rate: '2 hours' }, stored)).toEqual({ rate: '2 hours' });
  });

  test('an emptied field removes what it had, and an emptied time zone is UTC', () => {
    const limited = { ...stored, version: 3, endAt: '2027-01-01T00:00:00.000Z' };
    const form = { ...formOf(limited), version: '', endAt: '', timeZone: '' };
    expect(changesIn(form, limited)).toEqual({ cron: stored.cron, timeZone: 'UTC', version: null, endAt: null });
  });

  test('a time that stays the same is not sent, in any time zone of the browser', () => {
    const limited = { ...stored, startAt: '2027-01-01T10:30:00.000Z' };
    expect(changesIn(formOf(limited), limited)).toEqual({});
    expect(newScheduleIn(formOf(limited))).toMatchObject({ startAt: '2027-01-01T10:30:00.000Z' });
  });

  test('text that is not JSON is refused before it is sent', () => {
    expect(() => newScheduleIn({ ...formOf(undefined), input: '{' })).toThrow('The text is not JSON');
  });
});

test('a failure counts until a later due time has started a run', () => {
  const lastFailure = { scheduledAt: '2026-11-25T02:00:00.000Z', at: '2026-11-25T02:00:01.000Z', outcome: 'failed' as const };
  const lastRun = (scheduledAt: string) => ({ runId: 'wrun_1', scheduledAt, startedAt: scheduledAt });
  expect(isFailing({ paused: false, lastFailure })).toBe(true);
  expect(isFailing({ paused: false, lastFailure, lastRun: lastRun('2026-11-24T02:00:00.000Z') })).toBe(true);
  expect(isFailing({ paused: false, lastFailure, lastRun: lastRun('2026-11-26T02:00:00.000Z') })).toBe(false);
});
