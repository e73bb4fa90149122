/** All that a sentence of the service may ask of the world, and the settings it goes by. */
import type { FairShares } from '../engine/fair-shares.ts';
import type { DurationMs } from '../engine/time.ts';
import type { Ports } from '../ports/ports.ts';

interface Settings {
  /** how long a run is kept after its latest end */
  readonly retentionMs: DurationMs;
  /** how long an idempotency key is remembered */
  readonly idempotencyMs: DurationMs;
  /** whether the HTTP functions refuse what is not proven to have come over HTTPS */
  readonly requiresHttps: boolean;
  /** origins of pages that may call the HTTP functions from a browser; absent: none */
  readonly corsOrigins?: readonly string[];
  /**
   * of each project in the workers; absent: the queue of node jobs knows no groups, so nothing bounds a project and scripts run to
   * their limits at once
   */
  readonly shares?: FairShares | undefined;
  /** how many streams of events may be open at once; absent: as many as come */
  readonly maxStreams?: number | undefined;
  /** the commit at which a run's fold is first kept beside its log; absent: as the engine says */
  readonly firstSnapshotAt?: number;
  /** how many bytes a turn of code may say in one commit, before it is written in several; absent: as the engine says */
  readonly maxPartBytes?: number;
}

export interface Deps extends Ports {
  readonly settings: Settings;
}
