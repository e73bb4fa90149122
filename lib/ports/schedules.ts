/**
 * Schedules: the record of each is the truth, and what the world's own scheduler holds is made from it (`recurrences.ts`).
 * A mark says that the two may differ; it is written before the record is changed and goes when they agree again.
 */
import type { Nonce, RunId, ScheduleId, Scope, WorkflowName } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { OverlapPolicy } from '../engine/schedule/overlap.ts';
import type { Timing } from '../engine/schedule/timing.ts';
import type { DurationMs, Instant } from '../engine/time.ts';

export interface ScheduleDefinition {
  readonly workflowName: WorkflowName;
  /** pins runs to this version of a graph; absent: the latest at each fire */
  readonly version?: number;
  /**
   * The latest version of the graph when the schedule was given its name; absent for deployed code. A graph whose first version is
   * above this number was published after the deletion of the one that the schedule was made for.
   */
  readonly latestVersionWhenSet?: number;
  readonly input?: JsonValue;
  readonly timing: Timing;
  readonly overlap: OverlapPolicy;
  /** a fire that comes later than this after its time starts nothing */
  readonly catchUpWindowMs: DurationMs;
  readonly isPaused: boolean;
}

/** What became of one time at which the schedule was due. */
export interface Fire {
  readonly scheduledAt: Instant;
  /** when this was noted */
  readonly at: Instant;
  readonly outcome: 'starting' | 'started' | 'skipped' | 'missed' | 'failed';
  /** of the run that it starts, known before it exists */
  readonly runId?: RunId;
  /** why it started nothing */
  readonly code?: string;
  readonly message?: string;
}

export interface Schedule extends Scope {
  readonly scheduleId: ScheduleId;
  /** tells it from one of the same id that was deleted */
  readonly incarnation: Nonce;
  /** SHA-256, in hex, of what made it: the same once more is the same creation */
  readonly bodyHash: string;
  readonly definition: ScheduleDefinition;
  /** counts what the world's scheduler was told: a fire of an earlier setting changes nothing */
  readonly setting: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** the last ones, the latest noted first */
  readonly fires: readonly Fire[];
  readonly lastFailure?: Fire;
  /** counts the changes of this record */
  readonly revision: number;
}

/** One setting of one schedule, by which the world's scheduler knows it. */
export interface ScheduleSetting extends Scope {
  readonly scheduleId: ScheduleId;
  readonly incarnation: Nonce;
  readonly setting: number;
}

export interface ScheduleMark extends ScheduleSetting {
  /** when it was made */
  readonly at: Instant;
}

export interface Schedules {
  /** Read strongly. */
  schedule(scope: Scope, id: ScheduleId): Promise<Schedule | undefined>;
  /** Writes it on the condition that its id is free. */
  create(schedule: Schedule): Promise<'stored' | 'occupied'>;
  /** Puts it in the place of the revision before its own; false where that is not what stands. */
  replace(schedule: Schedule): Promise<boolean>;
  /** Removes it, if this incarnation is what stands. */
  remove(schedule: Pick<Schedule, 'projectId' | 'environment' | 'scheduleId' | 'incarnation'>): Promise<void>;
  /** By id, ascending. */
  list(
    scope: Scope,
    options: { readonly limit: number; readonly after?: ScheduleId },
  ): Promise<{ readonly schedules: readonly Schedule[]; readonly next?: ScheduleId }>;

  /** Notes that what the world's scheduler holds of this setting may be wrong. */
  markForSync(mark: ScheduleMark): Promise<void>;
  clearSyncMark(setting: ScheduleSetting): Promise<void>;
  /** Of all scopes. */
  syncMarks(): Promise<readonly ScheduleMark[]>;
  /** Notes which settings the world's scheduler is to hold, so that they can be set again where it has lost them. */
  registerSetting(setting: ScheduleSetting): Promise<void>;
  unregisterSetting(setting: ScheduleSetting): Promise<void>;
  /** Of all scopes. */
  registeredSettings(): Promise<readonly ScheduleSetting[]>;
}
