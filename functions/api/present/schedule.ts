/** Schedules as answers show them. */
import type { AnswerOf } from '../../../lib/api/routes.ts';
import { askedOf } from '../../../lib/engine/schedule/judge-timing.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Fire } from '../../../lib/ports/schedules.ts';
import type { ShownSchedule } from '../../../lib/service/get-schedule.ts';
import { times } from './times.ts';

type Summary = AnswerOf<'listSchedules'>['body']['data'][number];

const fireOf = ({ scheduledAt, at, ...fire }: Fire) => ({ ...fire, scheduledAt: iso(scheduledAt), at: iso(at) });

export const scheduleSummaryOf = ({ schedule, nextRunAt, lastRun }: ShownSchedule): Summary => {
  const { scheduleId, terms, createdAt, updatedAt, lastFailure } = schedule;
  const { startAt, endAt, ...written } = askedOf(terms.timing);
  return {
    scheduleId,
    workflowName: terms.workflowName,
    ...(terms.version === undefined ? {} : { version: terms.version }),
    ...written,
    ...times({ startAt, endAt }),
    overlap: terms.overlap,
    catchUpSeconds: Math.round(terms.catchUpMs / 1_000),
    paused: terms.isPaused,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    ...times({ nextRunAt }),
    ...(lastRun === undefined
      ? {}
      : {
          lastRun: {
            runId: lastRun.runId,
            scheduledAt: iso(lastRun.scheduledAt),
            startedAt: iso(lastRun.at),
            ...(lastRun.status === undefined ? {} : { status: lastRun.status }),
          },
        }),
    ...(lastFailure === undefined ? {} : { lastFailure: fireOf(lastFailure) }),
  };
};

export const scheduleOf = (shown: ShownSchedule): AnswerOf<'getSchedule'>['body'] => ({
  ...scheduleSummaryOf(shown),
  ...(shown.schedule.terms.input === undefined ? {} : { input: shown.schedule.terms.input }),
  recentFires: shown.schedule.fires.map(fireOf),
});
