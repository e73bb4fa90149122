import type { DeploymentNotice, Notices, RunStatusNotice, ScheduleFailureNotice } from '../ports/notices.ts';
import { kept } from './kept.ts';

export class MemoryNotices implements Notices {
  /** what was told, in order */
  readonly told: RunStatusNotice[] = [];
  readonly activations: DeploymentNotice[] = [];
  readonly scheduleFailures: ScheduleFailureNotice[] = [];

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    this.told.push(kept(notice));
  }

  async deploymentActivated(notice: DeploymentNotice): Promise<void> {
    this.activations.push(kept(notice));
  }

  async scheduleFailed(notice: ScheduleFailureNotice): Promise<void> {
    this.scheduleFailures.push(kept(notice));
  }
}
