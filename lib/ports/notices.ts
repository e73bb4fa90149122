/** Telling others what a run's status became. At least once; nothing correct depends on it. */
import type { RunAddress } from '../engine/ids.ts';
import type { PinnedVersion } from '../engine/log/commit.ts';
import type { RunStatus } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';

export interface RunStatusNotice {
  readonly run: RunAddress;
  readonly workflow: PinnedVersion;
  readonly status: RunStatus;
  readonly startedAt: Instant;
  readonly endedAt?: Instant;
}

export interface Notices {
  runStatusChanged(notice: RunStatusNotice): Promise<void>;
}
