/** Telling others what a run's status became, and which deployment is active. At least once; nothing correct depends on it. */
import type { DeploymentId, RunAddress, ScheduleId, Scope, WorkflowName } from '../engine/ids.ts';
import type { RunCreation, RunStatus } from '../engine/log/head.ts';
import type { CorrelationId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface RunStatusNotice {
  readonly run: RunAddress;
  readonly workflow: RunCreation['workflow'];
  readonly status: RunStatus;
  /** whose code it runs; absent: it runs a graph */
  readonly deploymentId?: DeploymentId;
  /** the schedule that started it */
  readonly scheduleId?: ScheduleId;
  /** of the request that asked for the run */
  readonly correlationId?: CorrelationId;
  readonly startedAt: Instant;
  readonly endedAt?: Instant;
}

/** New runs get this deployment from now on. */
export interface DeploymentNotice {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  readonly previousDeploymentId: DeploymentId | null;
  /** tells an older change from a newer one */
  readonly revision: number;
  /** somebody went back to it */
  readonly isRollback?: true;
  readonly activatedAt: Instant;
}

/** What became of an uploaded artifact, beside being given to new runs. */
export const deploymentChanges = ['created', 'verified', 'removed'] as const;

export interface DeploymentChangeNotice {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  readonly change: (typeof deploymentChanges)[number];
  readonly changedAt: Instant;
}

/** A time at which a schedule was due, and at which it started nothing though it should have. */
export interface ScheduleFailureNotice {
  readonly scope: Scope;
  readonly scheduleId: ScheduleId;
  readonly workflowName: WorkflowName;
  readonly scheduledAt: Instant;
  readonly failedAt: Instant;
  /** stable, as the API answers it to a start; `missed` and `lost` besides */
  readonly code: string;
  readonly message: string;
}

export interface Notices {
  /** Whether anybody wants to hear that a run has begun: each telling has a price. */
  readonly notifiesStarts: boolean;
  runStatusChanged(notice: RunStatusNotice): Promise<void>;
  deploymentActivated(notice: DeploymentNotice): Promise<void>;
  deploymentChanged(notice: DeploymentChangeNotice): Promise<void>;
  scheduleFailed(notice: ScheduleFailureNotice): Promise<void>;
}
