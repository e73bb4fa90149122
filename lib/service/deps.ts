/** All that a sentence of the service may ask of the world, and the settings it goes by. */
import type { DurationMs } from '../engine/time.ts';
import type { World } from '../ports/world.ts';

interface Settings {
  /** how long a run is kept after its latest end */
  readonly retentionMs: DurationMs;
  /** how long an idempotency key is remembered */
  readonly idempotencyMs: DurationMs;
  /** whether the HTTP functions refuse what is not proven to have come over HTTPS */
  readonly requiresHttps: boolean;
  /** how many streams of events may be open at once; absent: as many as come */
  readonly mostStreams?: number | undefined;
  /** the commit at which a run's fold is first kept beside its log; absent: as the engine says */
  readonly firstSnapshotAt?: number;
}

export interface Deps extends World {
  readonly settings: Settings;
}
