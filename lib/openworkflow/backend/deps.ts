/** The backend's dependencies, including time, randomness and ids, so that tests can replace them. */
import type { Instant } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ExternalRuns } from '../../ports/external-runs.ts';

export interface BackendDeps {
  readonly store: ExternalRuns;
  readonly clock: { now(): Instant };
  /** waits between polls that find nothing */
  readonly sleep: Clock['sleep'];
  /** writes a line to the log of the process */
  readonly warn: (line: string) => void;
  /** a random UUID */
  readonly newId: () => string;
  /** a number in [0, 1) */
  readonly random: () => number;
}
