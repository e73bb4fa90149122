/** Cron expressions: valid forms, and due times, also when clocks change. */
import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { convertUnixCron, nextCronTime, readCron } from '../../../lib/engine/schedule/cron.ts';
import { wallTimeAt } from '../../../lib/engine/schedule/zone.ts';
import { type Instant, instant, iso } from '../../../lib/engine/time.ts';

const at = (text: string): Instant => instant(Date.parse(text));
const cronOf = (text: string) => {
  const read = readCron(text);
  if (read.kind === 'refused') throw new Error(read.errors.join('; '));
  return read.cron;
};
const fires = (text: string, from: string, count: number, zone = 'UTC'): readonly string[] => {
  const found: string[] = [];
  let last: Instant | undefined = at(from);
  while (found.length < count && last !== undefined) {
    last = nextCronTime(cronOf(text), zone, last);
    if (last !== undefined) found.push(iso(last).slice(0, 16));
  }
  return found;
};

describe('each field', () => {
  test.each([
    ['0 12 * * ? *', '2026-01-01T12:00:00Z', ['2026-01-02T12:00', '2026-01-03T12:00']],
    ['0/20 9-10 ? * MON-FRI *', '2026-01-02T10:30:00Z', ['2026-01-02T10:40', '2026-01-05T09:00', '2026-01-05T09:20']],
    ['*/30 0 1 JAN,jul ? 2026-2027', '2026-01-01T00:00:00Z', ['2026-01-01T00:30', '2026-07-01T00:00', '2026-07-01T00:30']],
    ['30,5,30 0 1 1 ? 2027', '2026-01-01T00:00:00Z', ['2027-01-01T00:05', '2027-01-01T00:30']],
    ['  0 \t12  *  * ? * ', '2026-01-01T00:00:00Z', ['2026-01-01T12:00']],
    ['0 0 L * ? *', '2028-01-31T12:00:00Z', ['2028-02-29T00:00', '2028-03-31T00:00']],
    ['0 0 ? * L *', '2026-01-01T00:00:00Z', ['2026-01-03T00:00', '2026-01-10T00:00']],
    ['0 10 ? * 6L *', '2026-01-01T00:00:00Z', ['2026-01-30T10:00', '2026-02-27T10:00']],
    ['0 10 ? * TUE#2 *', '2026-01-01T00:00:00Z', ['2026-01-13T10:00', '2026-02-10T10:00']],
    ['0 10 ? * 1#5 *', '2026-01-01T00:00:00Z', ['2026-03-29T10:00', '2026-05-31T10:00']],
    // The 1st of August 2026 is a Saturday, the 31st of January 2027 a Sunday, the 15th of February 2026 a Sunday.
    ['0 0 1W 8 ? 2026', '2026-01-01T00:00:00Z', ['2026-08-03T00:00']],
    ['0 0 31W 1 ? 2027', '2026-01-01T00:00:00Z', ['2027-01-29T00:00']],
    ['0 0 15W 2 ? 2026', '2026-01-01T00:00:00Z', ['2026-02-16T00:00']],
    ['0 0 31W 2 ? 2026', '2026-01-01T00:00:00Z', []],
    // The 14th of August 2026 is a Friday.
    ['0 0 14w 8 ? 2026', '2026-01-01T00:00:00Z', ['2026-08-14T00:00']],
    ['0 0 15W 8 ? 2026', '2026-01-01T00:00:00Z', ['2026-08-14T00:00']],
    ['0 10 ? * fril *', '2026-01-01T00:00:00Z', ['2026-01-30T10:00', '2026-02-27T10:00']],
    ['0 0 29 2 ? 2096-2104', '2026-01-01T00:00:00Z', ['2096-02-29T00:00', '2104-02-29T00:00']],
    ['0 0 29 2 ? 1999-2001', '1990-01-01T00:00:00Z', ['2000-02-29T00:00']],
    ['0 0 ? 3 MON#1 2101', '2026-01-01T00:00:00Z', ['2101-03-07T00:00']],
    ['0 0 30 2 ? *', '2026-01-01T00:00:00Z', []],
    ['0 0 29 2 ? *', '2026-01-01T00:00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['15 10 1 1 ? 2025', '2026-01-01T00:00:00Z', []],
  ])('%s', (text, from, expected) => {
    expect(fires(text, from, Math.max(1, expected.length))).toEqual(expected);
  });
});

test.each([
  ['* * * * *', 'six fields'],
  ['* * * * ? * *', 'six fields'],
  ['', 'six fields'],
  ['0', 'six fields'],
  ['0 0', 'six fields'],
  ['0 0 1', 'six fields'],
  ['0 0 1 1', 'six fields'],
  ['* * * * * *', 'exactly one'],
  ['* * ? * ? *', 'exactly one'],
  ['* * 1 * MON *', 'exactly one'],
  ['60 * * * ? *', 'the field minutes takes 0 to 59'],
  ['* 24 * * ? *', 'the field hours takes 0 to 23'],
  ['* * 0 * ? *', 'the field day of month takes 1 to 31'],
  ['* * * 13 ? *', 'the field month takes 1 to 12, or JAN to DEC'],
  ['* * ? * 0 *', 'the field day of week takes 1 to 7, or SUN to SAT'],
  ['* * ? * 8#1 *', 'the field day of week takes 1 to 7'],
  ['* * ? * MON#6 *', '# and 1 to 5'],
  ['* * ? * XL *', 'the field day of week takes'],
  ['* * 32W * ? *', 'before W'],
  ['* * x5W * ? *', 'the field day of month takes'],
  ['* * 5W-6 * ? *', 'the field day of month takes'],
  ['* * ? * 1-6L *', 'the field day of week takes'],
  ['* * ? * 6L-1 *', 'the field day of week takes'],
  ['* * ? * 1-MON#2 *', '# and 1 to 5'],
  ['* * ? * MON#2-3 *', '# and 1 to 5'],
  ['* * L-3 * ? *', 'the field day of month'],
  ['* * * * ? 1969', 'the field year takes 1970 to 2199'],
  ['1/0 * * * ? *', 'not a whole number from 1'],
  ['1/2/3 * * * ? *', 'two steps'],
  ['5-1 * * * ? *', 'ends before it begins'],
  ['1-2-3 * * * ? *', 'more than two ends'],
  [', * * * ? *', 'the field minutes takes'],
  ['-1 * * * ? *', 'the field minutes takes'],
  ['1e1 * * * ? *', 'the field minutes takes'],
])('%s is rejected: %s', (text, why) => {
  const read = readCron(text);
  expect(read.kind).toBe('refused');
  expect(JSON.stringify(read)).toContain(JSON.stringify(why).slice(1, -1));
});

test('spaces between and around the fields have no meaning', () => {
  expect(readCron('  0  12 \t* * ? *\n')).toEqual(readCron('0 12 * * ? *'));
});

test('all errors are reported together', () => {
  expect(readCron('60 24 1 * MON *')).toEqual({
    kind: 'refused',
    errors: [
      'the field minutes takes 0 to 59, not "60"',
      'the field hours takes 0 to 23, not "24"',
      'exactly one of the fields day of month and day of week must be ?',
    ],
  });
});

describe('clock changes', () => {
  test('a time that is skipped in spring does not fire', () => {
    expect(fires('30 2 * * ? *', '2026-03-27T12:00:00Z', 3, 'Europe/Berlin')).toEqual([
      '2026-03-28T01:30',
      '2026-03-30T00:30',
      '2026-03-31T00:30',
    ]);
    expect(fires('30 2 * * ? *', '2026-03-07T12:00:00Z', 1, 'America/New_York')).toEqual(['2026-03-09T06:30']);
  });

  test('a time that occurs twice in autumn fires once, the first time', () => {
    expect(fires('30 2 * * ? *', '2026-10-24T12:00:00Z', 2, 'Europe/Berlin')).toEqual(['2026-10-25T00:30', '2026-10-26T01:30']);
    // Evaluated between the two.
    expect(fires('30 2 * * ? *', '2026-10-25T01:00:00Z', 1, 'Europe/Berlin')).toEqual(['2026-10-26T01:30']);
    expect(fires('0/30 * * * ? *', '2026-10-24T23:45:00Z', 4, 'Europe/Berlin')).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T02:00',
      '2026-10-25T02:30',
    ]);
  });

  test('a zone that changes by half an hour, and a date that a zone skipped', () => {
    expect(fires('15 2 * * ? *', '2026-10-03T00:00:00Z', 1, 'Australia/Lord_Howe')).toEqual(['2026-10-04T15:15']);
    expect(fires('0 12 * * ? *', '2011-12-29T00:00:00Z', 2, 'Pacific/Apia')).toEqual(['2011-12-29T22:00', '2011-12-30T22:00']);
  });
});

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'America/St_Johns',
  'Africa/Casablanca',
];
const field = (least: number, most: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: least, max: most }).map(String),
    fc.integer({ min: least, max: most }).map((first) => `${first}-${most}/7`),
  );
const expression = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(1, 7), fc.boolean())
  .map(
    ([minute, hour, day, month, weekday, byWeek]) =>
      `${minute} ${hour} ${byWeek ? '?' : day} ${month} ${byWeek ? weekday : '?'} *`,
  );
const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2035, 0) }).map(instant);

test('the result is later, matches the expression, and is the first match', () => {
  fc.assert(
    fc.property(expression, fc.constantFrom(...zones), moment, (text, zone, after) => {
      const cron = cronOf(text);
      const next = nextCronTime(cron, zone, after);
      if (next === undefined) return;
      expect(next).toBeGreaterThan(after);
      expect(next % 60_000).toBe(0);
      const wall = wallTimeAt(zone, next);
      expect(cron.minutes).toContain(wall.minute);
      expect(cron.hours).toContain(wall.hour);
      expect(cron.months).toContain(wall.month);
      // From any earlier time the result is the same.
      const between = instant(after + Math.floor((next - after) / 2));
      expect(nextCronTime(cron, zone, between)).toBe(next);
    }),
    { numRuns: 2_000 },
  );
});

/** Days of the month and weekdays in every form that both libraries know. */
const dayOfMonth = fc.oneof(
  field(1, 31),
  fc.constant('L'),
  fc.integer({ min: 1, max: 31 }).map((day) => `${day}W`),
);
const dayOfWeek = fc.oneof(
  field(1, 7),
  fc.integer({ min: 1, max: 7 }).map((day) => `${day}L`),
  fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 5 })).map(([day, nth]) => `${day}#${nth}`),
  fc.constantFrom('MON-FRI', 'SUN', 'tue,thu', 'FRIL', 'SAT#1'),
);
const anyExpression = fc
  .tuple(field(0, 59), field(0, 23), dayOfMonth, field(1, 12), dayOfWeek, fc.boolean())
  .map(
    ([minute, hour, day, month, weekday, byWeek]) =>
      `${minute} ${hour} ${byWeek ? '?' : day} ${month} ${byWeek ? weekday : '?'} *`,
  );
const timeInCroner = (text: string, timezone: string, after: Instant): number | undefined =>
  new Cron(`0 ${text}`, { timezone, paused: true, alternativeWeekdays: true, domAndDow: true })
    .nextRun(new Date(after))
    ?.getTime();

test('without clock changes, another cron library finds the same times', () => {
  fc.assert(
    fc.property(anyExpression, fc.constantFrom('UTC', 'Asia/Kolkata'), moment, (text, timezone, after) => {
      expect(nextCronTime(cronOf(text), timezone, after)).toBe(timeInCroner(text, timezone, after));
    }),
    { numRuns: 1_000 },
  );
});

// docs/decisions/cron.md
test.each([
  ['30 2 * * ? *', '2026-03-28T12:00:00Z', '2026-03-30T00:30', '2026-03-29T01:00'],
  ['0/30 * * * ? *', '2026-10-25T00:30:00Z', '2026-10-25T02:00', '2026-10-25T01:00'],
])('at a clock change, %s follows EventBridge Scheduler and not the other library', (text, from, expected, inCroner) => {
  expect(fires(text, from, 1, 'Europe/Berlin')).toEqual([expected]);
  const rewritten = text.replace('0/30', '0-59/30');
  expect(timeInCroner(rewritten, 'Europe/Berlin', at(from))).toBe(Date.parse(`${inCroner}Z`));
});

describe('five fields as in Unix cron', () => {
  test.each([
    ['0 3 * * *', '0 3 * * ? *'],
    ['*/15 9-17 * * 1-5', '*/15 9-17 ? * MON-FRI *'],
    ['0 0 * * 0', '0 0 ? * SUN *'],
    ['0 0 * * 7', '0 0 ? * SUN *'],
    ['0 0 * * 5-7', '0 0 ? * SUN,FRI,SAT *'],
    ['0 0 * * mon-sun', '0 0 * * ? *'],
    ['0 0 * * fri-sun', '0 0 ? * SUN,FRI,SAT *'],
    ['0 0 * * 0-6', '0 0 * * ? *'],
    ['0 0 * * */2', '0 0 ? * SUN,TUE,THU,SAT *'],
    ['0 0 * * Mon,3', '0 0 ? * MON,WED *'],
    ['0 0 1,15 * *', '0 0 1,15 * ? *'],
    ['0 0 */2 JAN *', '0 0 */2 JAN ? *'],
    ['0 0 1-31 * 1', '0 0 ? * MON *'],
    ['  5   4 * * 1 ', '5 4 ? * MON *'],
    ['0 3 ? * MON-FRI *', '0 3 ? * MON-FRI *'],
  ])('%s is %s', (unix, six) => {
    expect(convertUnixCron(unix)).toEqual({ kind: 'converted', cron: six });
    expect(readCron(six).kind).toBe('read');
  });

  test.each([
    ['0 0 13 * 5', 'Unix cron fires when either matches, which one schedule cannot do; create two'],
    ['0 0 13 * */2', 'create two schedules'],
    ['0 3 ? * MON-FRI', 'which does not know ?: add the year as a sixth field'],
    ['0 3 L * *', 'does not know L'],
    ['0 3 * * 5L', 'does not know 5L'],
    ['0 3 * * 5#2', 'does not know 5#2'],
    ['0 3 * * 8', 'the field day of week takes 0 to 7, or SUN to SAT, not "8"'],
    ['0 3 * * 5-1', 'ends before it begins'],
  ])('%s is refused', (unix, message) => {
    const converted = convertUnixCron(unix);
    expect(converted.kind === 'refused' ? converted.errors.join() : '').toContain(message);
  });

  test('fires at the times of croner in its Unix mode', () => {
    const weekday = fc.constantFrom('0', '1', '6', '7', '1-5', '5-7', 'MON', '*/2', '0,3', 'TUE-THU');
    const days = fc.oneof(
      fc.tuple(fc.constant('*'), weekday),
      fc.tuple(fc.constantFrom('*', '1', '15,31', '*/3', '5-9'), fc.constant('*')),
    );
    const expression = fc.record({ minute: fc.constantFrom('0', '*/20', '5,35'), hour: fc.constantFrom('3', '*/6'), days });
    fc.assert(
      fc.property(expression, fc.integer({ min: 0, max: 1_000 }), ({ minute, hour, days: [date, day] }, offset) => {
        const unix = `${minute} ${hour} ${date} * ${day}`;
        const converted = convertUnixCron(unix);
        if (converted.kind === 'refused') throw new Error(converted.errors.join());
        const from = new Date(Date.UTC(2026, 0, 1) + offset * 86_400_000);
        const next = new Cron(unix, { timezone: 'UTC' }).nextRun(from);
        expect(fires(converted.cron, from.toISOString(), 1)).toEqual([next?.toISOString().slice(0, 16)]);
      }),
      { numRuns: 500 },
    );
  });
});
