/** Dependencies of the use cases: the ports and the installation's settings. */
import type { FairShares } from '../engine/fair-shares.ts';
import type { DurationMs } from '../engine/time.ts';
import type { Ports } from '../ports/ports.ts';

interface Settings {
  /** how long a run's data is retained after its deadline */
  readonly retentionMs: DurationMs;
  /** how long an idempotency key is stored */
  readonly idempotencyMs: DurationMs;
  /** whether the HTTP functions refuse requests that did not provably arrive over HTTPS */
  readonly requiresHttps: boolean;
  /** allowed CORS origins of the HTTP functions; absent: none */
  readonly corsOrigins?: readonly string[];
  /**
   * each project's fair share of the workers; absent: the node queue has no message groups, so no project is limited and scripts run
   * up to their limits at once
   */
  readonly shares?: FairShares | undefined;
  /** maximum number of event streams open at once; absent: no limit */
  readonly maxStreams?: number | undefined;
  /** the commit of a run's first snapshot; absent: the engine's default */
  readonly firstSnapshotAt?: number;
  /** maximum bytes of a command batch in one commit, before it is split into several; absent: the engine's default */
  readonly maxPartBytes?: number;
}

export interface Deps extends Ports {
  readonly settings: Settings;
}
