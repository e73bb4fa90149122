/** What the backend is made of. Time, chance and ids come in here, so that a test needs none of its own. */
import type { Instant } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ExternalRuns } from '../../ports/external-runs.ts';

export interface BackendDeps {
  readonly store: ExternalRuns;
  readonly clock: { now(): Instant };
  /** waits between polls that find nothing */
  readonly sleep: Clock['sleep'];
  /** a line for the log of the process */
  readonly warn: (line: string) => void;
  /** a random UUID */
  readonly newId: () => string;
  /** from 0 up to 1 */
  readonly random: () => number;
}
