/** Which status changes of a run the event bus gets. The owner chooses it, because EventBridge bills each event. */
import { type RunCreation, type RunStatus, isTestRun } from './log/head.ts';

/** Each has the events of those before it. */
export const runEventLevels = ['none', 'failed', 'ended', 'all'] as const;
export type RunEvents = (typeof runEventLevels)[number];

const publishedStatuses = {
  none: [],
  failed: ['failed'],
  ended: ['completed', 'failed', 'cancelled'],
  all: ['running', 'completed', 'failed', 'cancelled'],
} as const satisfies Record<RunEvents, readonly RunStatus[]>;

/** Whether the bus gets this status of a run that is not a test run. */
export const includesStatus = (level: RunEvents, status: RunStatus): boolean =>
  publishedStatuses[level].some((published) => published === status);

/** The only rule of what is published about a run. A test run publishes nothing. */
export const isPublished = (level: RunEvents, run: RunCreation, status: RunStatus): boolean =>
  !isTestRun(run) && includesStatus(level, status);
