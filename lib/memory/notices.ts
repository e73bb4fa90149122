/** Notifications in memory, in the order of publication. */
import type {
  DeploymentChangeNotice,
  DeploymentNotice,
  Notices,
  RunStatusNotice,
  ScheduleFailureNotice,
} from '../ports/notices.ts';
import { frozenCopy } from './frozen-copy.ts';

export class MemoryNotices implements Notices {
  notifiesStarts = false;
  readonly statusNotices: RunStatusNotice[] = [];
  readonly activations: DeploymentNotice[] = [];
  readonly deploymentChanges: DeploymentChangeNotice[] = [];
  readonly scheduleFailures: ScheduleFailureNotice[] = [];

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    this.statusNotices.push(frozenCopy(notice));
  }

  async deploymentActivated(notice: DeploymentNotice): Promise<void> {
    this.activations.push(frozenCopy(notice));
  }

  async deploymentChanged(notice: DeploymentChangeNotice): Promise<void> {
    this.deploymentChanges.push(frozenCopy(notice));
  }

  async scheduleFailed(notice: ScheduleFailureNotice): Promise<void> {
    this.scheduleFailures.push(frozenCopy(notice));
  }
}
