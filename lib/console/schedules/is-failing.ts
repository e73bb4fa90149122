/** Whether the due times of a schedule fail to start runs. */
import type { ScheduleSummary } from '../api.ts';

export type Stated = Pick<ScheduleSummary, 'paused' | 'nextRunAt' | 'lastFailure' | 'lastRun'>;

/** The last failure stays until the next one, so a later run means that it is over. */
export const isFailing = ({ lastFailure, lastRun }: Stated): boolean =>
  lastFailure !== undefined && (lastRun === undefined || lastRun.scheduledAt < lastFailure.scheduledAt);
