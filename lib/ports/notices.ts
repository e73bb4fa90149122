/** Telling others what a run's status became, and which deployment is active. At least once; nothing correct depends on it. */
import type { DeploymentId, RunAddress, Scope } from '../engine/ids.ts';
import type { RunCreation, RunStatus } from '../engine/log/head.ts';
import type { CorrelationId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface RunStatusNotice {
  readonly run: RunAddress;
  readonly workflow: RunCreation['workflow'];
  readonly status: RunStatus;
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
  readonly activatedAt: Instant;
}

export interface Notices {
  runStatusChanged(notice: RunStatusNotice): Promise<void>;
  deploymentActivated(notice: DeploymentNotice): Promise<void>;
}
