/** Notifications about run statuses, deployments and schedules. Delivery is at least once, and no decision depends on them. */
import type { AppName, DeploymentId, RunAddress, ScheduleId, Scope, WorkflowName } from '../engine/ids.ts';
import type { RunCreation, RunStatus } from '../engine/log/head.ts';
import type { RunEvents } from '../engine/run-events.ts';
import type { CorrelationId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface RunStatusNotice {
  readonly run: RunAddress;
  readonly workflow: RunCreation['workflow'];
  readonly status: RunStatus;
  /** the deployment whose code it runs; absent: it runs a graph */
  readonly deploymentId?: DeploymentId;
  /** the schedule that started it */
  readonly scheduleId?: ScheduleId;
  /** of the request that started the run */
  readonly correlationId?: CorrelationId;
  readonly startedAt: Instant;
  readonly endedAt?: Instant;
}

/** New runs of the app's workflows start on this deployment from now on. */
export interface DeploymentNotice {
  readonly scope: Scope;
  readonly app: AppName;
  readonly deploymentId: DeploymentId;
  readonly previousDeploymentId: DeploymentId | null;
  /** orders changes of the active pointer */
  readonly revision: number;
  /** the activation is a rollback */
  readonly isRollback?: true;
  readonly activatedAt: Instant;
}

/** Changes of a deployment other than its activation. */
export const deploymentChanges = ['created', 'verified', 'removed'] as const;

export interface DeploymentChangeNotice {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  readonly change: (typeof deploymentChanges)[number];
  readonly changedAt: Instant;
}

/** A fire of a schedule that should have started a run and did not. */
export interface ScheduleFailureNotice {
  readonly scope: Scope;
  readonly scheduleId: ScheduleId;
  readonly workflowName: WorkflowName;
  readonly scheduledAt: Instant;
  readonly failedAt: Instant;
  /** a stable error code of the API's start route, or `missed`, or `lost` */
  readonly code: string;
  readonly message: string;
}

export interface Notices {
  /** Which status changes of runs the owner asked for. The service decides by it; the port publishes each notice that it gets. */
  readonly runEvents: RunEvents;
  runStatusChanged(notice: RunStatusNotice): Promise<void>;
  deploymentActivated(notice: DeploymentNotice): Promise<void>;
  deploymentChanged(notice: DeploymentChangeNotice): Promise<void>;
  scheduleFailed(notice: ScheduleFailureNotice): Promise<void>;
}
