/** Rates, start and end, and invalid timings. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type TimingRequest, timingRequestOf, validateTiming } from '../../../lib/engine/schedule/validate-timing.ts';
import { nextFire, readRate } from '../../../lib/engine/schedule/timing.ts';
import { type Instant, days, hours, instant, minutes } from '../../../lib/engine/time.ts';

const at = (text: string): Instant => instant(Date.parse(text));
const now = at('2026-01-01T00:00:30Z');

test.each([
  ['1 minute', minutes(1)],
  ['1 minutes', minutes(1)],
  ['90 minutes', minutes(90)],
  ['6 hours', hours(6)],
  ['365 days', days(365)],
  [' 7 days\n', days(7)],
])('%s is a rate', (text, length) => expect(readRate(text)).toBe(length));
test.each([
  '0 minutes',
  '1 second',
  '-1 days',
  '1.5 hours',
  '366 days',
  '999999 days',
  'daily',
  '5minutes',
  '5 minutes past',
  'every 5 minutes',
  '5  minutes',
  '',
])('%s is not a rate', (text) => expect(readRate(text)).toBeUndefined());

test('a rate keeps its anchor, whenever it is evaluated', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 1, max: 500 }), (offset, count) => {
      const timing = { recurrence: { kind: 'rate' as const, rate: `${count} minutes`, anchor: now } };
      const request = instant(now + offset);
      const next = nextFire(timing, request);
      if (next === undefined) throw new Error('a rate must have a next time');
      expect(next).toBeGreaterThan(request);
      expect(next - request).toBeLessThanOrEqual(count * 60_000);
      expect((next - now) % (count * 60_000)).toBe(0);
    }),
  );
});

test('nothing is due before the start, at the end or after it', () => {
  const recurrence = { kind: 'cron', cron: '0 * * * ? *', timeZone: 'UTC' } as const;
  const timing = { recurrence, startAt: at('2026-01-02T00:00:00Z'), endAt: at('2026-01-02T02:00:00Z') };
  expect(nextFire(timing, now)).toBe(timing.startAt);
  expect(nextFire(timing, at('2026-01-02T00:00:00Z'))).toBe(at('2026-01-02T01:00:00Z'));
  expect(nextFire(timing, at('2026-01-02T01:00:00Z'))).toBeUndefined();
});

test('a rate counts from its start, or from the minute of the request', () => {
  const anchorOf = (request: TimingRequest) => {
    const validation = validateTiming(request, now, now);
    return validation.kind === 'accepted' ? validation.timing : validation;
  };
  const recurrence = { kind: 'rate', rate: '1 day', anchor: at('2026-01-01T00:00:00Z') };
  expect(anchorOf({ rate: '1 day' })).toStrictEqual({ recurrence });
  const startAt = at('2026-03-01T07:00:07Z');
  expect(anchorOf({ rate: '1 day', startAt })).toStrictEqual({ recurrence: { ...recurrence, anchor: startAt }, startAt });
});

test('a rate that has not begun starts at its anchor', () => {
  const recurrence = { kind: 'rate', rate: '5 minutes', anchor: at('2026-03-01T07:00:00Z') } as const;
  expect(nextFire({ recurrence }, now)).toBe(recurrence.anchor);
  expect(nextFire({ recurrence }, recurrence.anchor)).toBe(at('2026-03-01T07:05:00Z'));
});

test('an invalid stored timing is rejected', () => {
  const cron = { kind: 'cron', cron: '99 * * * ? *', timeZone: 'UTC' } as const;
  expect(() => nextFire({ recurrence: cron }, now)).toThrow('the cron expression of a stored schedule is invalid: 99 * * * ? *');
  const rate = { kind: 'rate', rate: '5 parsecs', anchor: now } as const;
  expect(() => nextFire({ recurrence: rate }, now)).toThrow('the rate of a stored schedule is invalid: 5 parsecs');
});

describe('an invalid timing', () => {
  test.each<[TimingRequest, ...(readonly [place: string, code: string])[]]>([
    [{}, ['', 'timing_missing']],
    [{ cron: '0 0 * * ? *', rate: '1 day' }, ['/rate', 'timing_twice']],
    [{ cron: '0 0 13 * 5' }, ['/cron', 'cron_invalid']],
    [{ rate: '5 parsecs' }, ['/rate', 'rate_invalid']],
    [{ cron: '0 0 * * ? *', timeZone: 'Middle/Earth' }, ['/timeZone', 'time_zone_unknown']],
    [{ cron: '0 0 * * ? *', timeZone: '+01:00' }, ['/timeZone', 'time_zone_unknown']],
    [{ cron: '0 0 * * ? *', timeZone: 'Europe/berlin' }, ['/timeZone', 'time_zone_unknown']],
    [{ cron: '0 0 * * ? *', timeZone: 'Europe/BERLIN' }, ['/timeZone', 'time_zone_unknown']],
    [{ rate: '1 day', timeZone: 'Europe/Berlin' }, ['/timeZone', 'time_zone_unused']],
    [{ rate: '1 day', startAt: instant(now + 2), endAt: instant(now + 1) }, ['/endAt', 'ends_before_start']],
    [{ rate: '1 day', startAt: instant(now + 1), endAt: instant(now + 1) }, ['/endAt', 'ends_before_start']],
    [{ rate: '1 day', endAt: instant(now + 1_000) }, ['/endAt', 'never_fires']],
    [{ cron: '0 0 30 2 ? *' }, ['/cron', 'never_fires']],
    [
      { cron: '99 99 * * ? *', timeZone: 'x' },
      ['/cron', 'cron_invalid'],
      ['/cron', 'cron_invalid'],
      ['/timeZone', 'time_zone_unknown'],
    ],
  ])('%j', (request, ...expected) => {
    const validation = validateTiming(request, now, now);
    if (validation.kind === 'accepted') throw new Error('the timing was accepted');
    expect(validation.errors.map(({ pointer, code }) => [pointer, code])).toEqual(expected);
  });
});

test.each<TimingRequest>([
  { cron: '0 0 * * ? *', timeZone: 'Asia/Calcutta' },
  { cron: '0 0 * * ? *', timeZone: 'Asia/Kolkata', startAt: now },
  { cron: '0 0 * * ? *', timeZone: 'UTC' },
  { cron: '0 0 * * ? *', timeZone: 'Etc/GMT+3' },
  { rate: '5 minutes', endAt: at('2027-01-01T00:00:00Z') },
])('%j is a timing, and is shown as requested', (request) => {
  const validation = validateTiming(request, now, now);
  if (validation.kind === 'refused') throw new Error(JSON.stringify(validation.errors));
  expect(timingRequestOf(validation.timing)).toStrictEqual(request);
});
