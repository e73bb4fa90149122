import { expect, test } from 'vitest';
import { slotId, slotOf } from '../../../lib/engine/devkit/events.ts';
import { runIdError } from '../../../lib/engine/devkit/run-id.ts';
import { eventId } from '../../../lib/engine/ids.ts';
import { after, instant, minutes } from '../../../lib/engine/time.ts';

/** The time in the id. */
const at = instant(1_735_689_600_000);
const id = 'wrun_01JGFJJZ000000000000000000';

test('the time in the id of a run is about now', () => {
  expect(runIdError(id, at)).toBeUndefined();
  expect(runIdError(id, after(at, minutes(24 * 60)))).toBeUndefined();
  expect(runIdError(id, after(at, minutes(24 * 60 + 1)))).toMatch(/more than a day ago/);
  expect(runIdError(id, instant(at - minutes(5)))).toBeUndefined();
  expect(runIdError(id, instant(at - minutes(6)))).toMatch(/five minutes ahead/);
  expect(runIdError('wrun_x', at)).toMatch(/ULID/);
});

test('a slot is 26 digits, and comes back from its id', () => {
  expect(slotId(eventId(12))).toBe('evnt_00000000000000000000000012');
  expect(slotOf(slotId(eventId(12)))).toBe(12);
  for (const other of ['evnt_12', 'evnt_0000000000000000000000001x', '', 'evnt_99999999999999999999999999'])
    expect(slotOf(other)).toBeUndefined();
});
