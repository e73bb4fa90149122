/**
 * Schedules. Their records are the source of truth; the recurrences of the external scheduler derive from them.
 * A sync mark says that the two may differ. It is written before a change and deleted when they agree.
 */
import type { Nonce, RunId, ScheduleId, Scope, WorkflowName } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { OverlapPolicy, Timing } from '../engine/schedule/timing.ts';
import type { DurationMs, Instant } from '../engine/time.ts';

export interface ScheduleDefinition {
  readonly workflowName: WorkflowName;
  /** the version of the graph to run; absent: the latest at each fire */
  readonly version?: number;
  /**
   * The latest version of the graph when the schedule was set; absent for deployed code. A graph whose first version is
   * above this number was published after the deletion of the schedule's graph.
   */
  readonly latestVersionWhenSet?: number;
  readonly input?: JsonValue;
  readonly timing: Timing;
  readonly overlap: OverlapPolicy;
  /** a fire that arrives later than this after its due time starts nothing */
  readonly catchUpWindowMs: DurationMs;
  readonly isPaused: boolean;
}

/** The outcome of one fire. */
export interface Fire {
  readonly scheduledAt: Instant;
  /** when the outcome was recorded */
  readonly at: Instant;
  readonly outcome: 'starting' | 'started' | 'skipped' | 'missed' | 'failed';
  /** the run that the fire starts; chosen before the run exists */
  readonly runId?: RunId;
  /** why the fire started nothing */
  readonly code?: string;
  readonly message?: string;
}

export interface Schedule extends Scope {
  readonly scheduleId: ScheduleId;
  /** distinguishes the schedule from a deleted one with the same id */
  readonly incarnation: Nonce;
  /** SHA-256 of the creation request, in hex; identifies a repeated request */
  readonly bodyHash: string;
  readonly definition: ScheduleDefinition;
  /** counts changes of the recurrence; a fire of an earlier setting is ignored */
  readonly setting: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** the most recent fires, newest first */
  readonly fires: readonly Fire[];
  readonly lastFailure?: Fire;
  /** counts the changes of this record */
  readonly revision: number;
}

/** One setting of a schedule. The external scheduler has one recurrence for each. */
export interface ScheduleSetting extends Scope {
  readonly scheduleId: ScheduleId;
  readonly incarnation: Nonce;
  readonly setting: number;
}

export interface ScheduleMark extends ScheduleSetting {
  /** when the mark was written */
  readonly at: Instant;
}

export interface Schedules {
  /** Strongly consistent. */
  schedule(scope: Scope, id: ScheduleId): Promise<Schedule | undefined>;
  /** Writes the schedule if its id is free. */
  create(schedule: Schedule): Promise<'stored' | 'occupied'>;
  /** Replaces the previous revision; false if another revision is stored. */
  replace(schedule: Schedule): Promise<boolean>;
  /** Removes the schedule if this incarnation is stored. */
  remove(schedule: Pick<Schedule, 'projectId' | 'environment' | 'scheduleId' | 'incarnation'>): Promise<void>;
  /** By id, ascending. */
  list(
    scope: Scope,
    options: { readonly limit: number; readonly after?: ScheduleId },
  ): Promise<{ readonly schedules: readonly Schedule[]; readonly next?: ScheduleId }>;

  /** Records that the external scheduler may differ from this setting. */
  markForSync(mark: ScheduleMark): Promise<void>;
  clearSyncMark(setting: ScheduleSetting): Promise<void>;
  /** The marks of all scopes. */
  syncMarks(): Promise<readonly ScheduleMark[]>;
  /** Records that the external scheduler must have this setting, so that the sweep can restore a lost recurrence. */
  registerSetting(setting: ScheduleSetting): Promise<void>;
  unregisterSetting(setting: ScheduleSetting): Promise<void>;
  /** The registered settings of all scopes. */
  registeredSettings(): Promise<readonly ScheduleSetting[]>;
}

/** The message that the scheduler sends to the delay queue when a schedule is due. */
export interface ScheduleFire extends ScheduleSetting {
  /** the due time, equal in all deliveries of this fire */
  readonly scheduledAt: Instant;
}

export interface Recurrence {
  readonly setting: ScheduleSetting;
  readonly timing: Timing;
  /** the time of the first fire */
  readonly firstAt: Instant;
  /** the scheduler drops a fire that it could not deliver for this long */
  readonly maxDeliveryAge: DurationMs;
}

/** Recurring fires of schedules, from an external scheduler. A fire may be late, duplicate, or arrive after the removal. */
export interface Recurrences {
  /** Creates the recurrence of a setting. If the setting has one, it stays unchanged. */
  set(recurrence: Recurrence): Promise<void>;
  /** Removes the recurrence, if any. */
  remove(setting: ScheduleSetting): Promise<void>;
}

export interface SchedulePorts {
  readonly schedules: Schedules;
  readonly recurrences: Recurrences;
}
