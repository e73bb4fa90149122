/** The setting `runEvents`: which status changes of runs the event bus gets. */
import type { TerminalStatus } from '../../engine/log/head.ts';
import { type RunEvents, includesStatus, runEventLevels } from '../../engine/run-events.ts';

export type RunEventsSetting = RunEvents;

const includesAll = (level: RunEventsSetting, statuses: readonly TerminalStatus[]): boolean =>
  statuses.every((status) => includesStatus(level, status));

/** The values that publish all these ends, from the one with the fewest events. */
export const levelsWith = (statuses: readonly TerminalStatus[]): readonly RunEventsSetting[] =>
  runEventLevels.filter((level) => includesAll(level, statuses));
