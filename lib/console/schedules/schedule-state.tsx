/** Whether a schedule starts runs, and whether its last due time failed to. */
import type { ReactNode } from 'react';
import type { ScheduleSummary } from '../api.ts';

type Stated = Pick<ScheduleSummary, 'paused' | 'nextRunAt' | 'lastFailure' | 'lastRun'>;

/** The last failure stays until the next one, so a later run means that it is over. */
export const isFailing = ({ lastFailure, lastRun }: Stated): boolean =>
  lastFailure !== undefined && (lastRun === undefined || lastRun.scheduledAt < lastFailure.scheduledAt);

export function ScheduleState({ schedule }: { readonly schedule: Stated }): ReactNode {
  if (schedule.paused) return <span className="pill wait small">paused</span>;
  if (schedule.nextRunAt === undefined) return <span className="pill dim small">ended</span>;
  return isFailing(schedule) ? <span className="pill bad small">failing</span> : <span className="pill good small">enabled</span>;
}
