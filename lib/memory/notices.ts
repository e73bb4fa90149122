import type { DeploymentNotice, Notices, RunStatusNotice } from '../ports/notices.ts';
import { kept } from './kept.ts';

export class MemoryNotices implements Notices {
  /** what was told, in order */
  readonly told: RunStatusNotice[] = [];
  readonly activations: DeploymentNotice[] = [];

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    this.told.push(kept(notice));
  }

  async deploymentActivated(notice: DeploymentNotice): Promise<void> {
    this.activations.push(kept(notice));
  }
}
