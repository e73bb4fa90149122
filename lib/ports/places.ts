/** The places of workflows that limit how many of their runs are at work, and who waits for one. */
import type { RunId } from '../engine/ids.ts';
import type { PlacesOf, TakenPlace, WaitingRun } from '../engine/places.ts';
import type { Instant } from '../engine/time.ts';

/** Every read is strong. */
export interface Places {
  taken(of: PlacesOf): Promise<readonly TakenPlace[]>;
  /** Takes a place on the condition that it is free; true where it is the run's now, or was already. */
  take(of: PlacesOf, place: number, runId: RunId, expiresAt: Instant): Promise<boolean>;
  /** Gives a place back, on the condition that it is still this run's. */
  free(of: PlacesOf, place: number, runId: RunId): Promise<void>;
  /** Those who wait, the first to be let in first. */
  waiting(of: PlacesOf, limit: number): Promise<readonly WaitingRun[]>;
  /** Enters the run among them; twice is once. */
  enter(of: PlacesOf, run: WaitingRun, expiresAt: Instant): Promise<void>;
  leave(of: PlacesOf, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void>;
}
