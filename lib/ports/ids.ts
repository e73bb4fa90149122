/** Ids and chance, from outside. */
import type { Nonce, RunId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Ids {
  runId(at: Instant): RunId;
  nonce(): Nonce;
  /** a number from 0 up to, but not including, 1 */
  random(): number;
}
