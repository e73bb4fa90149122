/** Whether a schedule starts runs, and whether its last due time failed to. */
import type { ReactNode } from 'react';
import { type Stated, isFailing } from './is-failing.ts';

export function ScheduleState({ schedule }: { readonly schedule: Stated }): ReactNode {
  if (schedule.paused) return <span className="pill wait small">paused</span>;
  if (schedule.nextRunAt === undefined) return <span className="pill dim small">ended</span>;
  return isFailing(schedule) ? <span className="pill bad small">failing</span> : <span className="pill good small">enabled</span>;
}
