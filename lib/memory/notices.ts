import type {
  DeploymentChangeNotice,
  DeploymentNotice,
  Notices,
  RunStatusNotice,
  ScheduleFailureNotice,
} from '../ports/notices.ts';
import { kept } from './kept.ts';

export class MemoryNotices implements Notices {
  tellsStarts = false;
  /** what was told, in order */
  readonly told: RunStatusNotice[] = [];
  readonly activations: DeploymentNotice[] = [];
  readonly deploymentChanges: DeploymentChangeNotice[] = [];
  readonly scheduleFailures: ScheduleFailureNotice[] = [];

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    this.told.push(kept(notice));
  }

  async deploymentActivated(notice: DeploymentNotice): Promise<void> {
    this.activations.push(kept(notice));
  }

  async deploymentChanged(notice: DeploymentChangeNotice): Promise<void> {
    this.deploymentChanges.push(kept(notice));
  }

  async scheduleFailed(notice: ScheduleFailureNotice): Promise<void> {
    this.scheduleFailures.push(kept(notice));
  }
}
