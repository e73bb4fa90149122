/** The id of the run that a schedule starts at a time: the same for each try of the same fire. */
import { createHash } from 'node:crypto';
import { type RunId, runId } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import type { ScheduleSetting } from '../../ports/schedules.ts';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** A ULID is 48 bits of time and 80 of chance: 10 and 16 characters of 5 bits. */
const timeLength = 10;
const randomLength = 16;

/** What stands for chance is a digest over the schedule's own nonce, which nobody outside knows. */
export function scheduledRunId(schedule: Omit<ScheduleSetting, 'setting'>, scheduledAt: Instant): RunId {
  const digest = createHash('sha256')
    .update(JSON.stringify([schedule.projectId, schedule.environment, schedule.scheduleId, schedule.incarnation, scheduledAt]))
    .digest();
  const randomPart = [...digest.subarray(0, randomLength)].map((byte) => crockford.charAt(byte % crockford.length)).join('');
  let rest: number = scheduledAt;
  let time = '';
  while (time.length < timeLength) {
    time = crockford.charAt(rest % crockford.length) + time;
    rest = Math.floor(rest / crockford.length);
  }
  return runId(`wrun_${time}${randomPart}`);
}
