import type { Notices, RunStatusNotice } from '../ports/notices.ts';
import { kept } from './kept.ts';

export class MemoryNotices implements Notices {
  /** what was told, in order */
  readonly told: RunStatusNotice[] = [];

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    this.told.push(kept(notice));
  }
}
