/** Ids and random numbers. Tests and the simulator draw them from a seed. */
import type { Nonce, RunId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Ids {
  runId(at: Instant): RunId;
  nonce(): Nonce;
  /** a number in [0, 1) */
  random(): number;
}
