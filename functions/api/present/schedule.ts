/** Schedules as answers show them. */
import { defined } from '../../../lib/engine/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { timingRequestOf } from '../../../lib/engine/schedule/validate-timing.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Fire } from '../../../lib/ports/schedules.ts';
import type { ScheduleView } from '../../../lib/service/schedules/get-schedule.ts';
import { times } from './times.ts';

type Summary = ResponseOf<'listSchedules'>['body']['data'][number];

const fireOf = ({ scheduledAt, at, ...fire }: Fire) => ({ ...fire, scheduledAt: iso(scheduledAt), at: iso(at) });

export const scheduleSummaryOf = ({ schedule, nextRunAt, lastRun }: ScheduleView): Summary => {
  const { scheduleId, definition, createdAt, updatedAt, lastFailure } = schedule;
  const { startAt, endAt, ...timingFields } = timingRequestOf(definition.timing);
  return defined({
    scheduleId,
    workflowName: definition.workflowName,
    version: definition.version,
    ...timingFields,
    ...times({ startAt, endAt }),
    overlap: definition.overlap,
    catchUpSeconds: Math.round(definition.catchUpWindowMs / 1_000),
    paused: definition.isPaused,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    ...times({ nextRunAt }),
    lastRun:
      lastRun === undefined
        ? undefined
        : {
            runId: lastRun.runId,
            scheduledAt: iso(lastRun.scheduledAt),
            startedAt: iso(lastRun.at),
            ...(lastRun.status === undefined ? {} : { status: lastRun.status }),
          },
    lastFailure: lastFailure === undefined ? undefined : fireOf(lastFailure),
  });
};

export const scheduleOf = (shown: ScheduleView): ResponseOf<'getSchedule'>['body'] =>
  defined({
    ...scheduleSummaryOf(shown),
    input: shown.schedule.definition.input,
    recentFires: shown.schedule.fires.map(fireOf),
  });
