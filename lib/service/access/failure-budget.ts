/**
 * Limits how many failed authentications one warm function records, because each record is a write that an attacker could cause. The
 * function counts the others and logs the count.
 */
import { type Instant, instant, minutes } from '../../engine/time.ts';
import type { KeyId } from '../../engine/ids.ts';
import type { Deps } from '../deps.ts';

const windowMs = minutes(1);
/** Per minute, for each known key id, and for all requests without a known key id together. */
export const maxFailuresRecorded = 60;

export class FailureBudget {
  readonly #clock: Deps['clock'];
  #windowStart: Instant = instant(0);
  #taken = new Map<KeyId | undefined, number>();
  #dropped = 0;

  constructor(clock: Deps['clock']) {
    this.#clock = clock;
  }

  /** Whether to record this failure. `keyId` names an existing key, so that guessed ids cannot fill the memory. */
  take(keyId: KeyId | undefined): boolean {
    const taken = this.#taken.get(keyId) ?? 0;
    if (taken >= maxFailuresRecorded) {
      this.#dropped += 1;
      return false;
    }
    this.#taken.set(keyId, taken + 1);
    return true;
  }

  /** Starts a new window if the minute is over. Returns the number of failures the last window did not record; otherwise 0. */
  startNewWindow(): number {
    const now = this.#clock.now();
    const windowStart = instant(Math.floor(now / windowMs) * windowMs);
    if (windowStart === this.#windowStart) return 0;
    const dropped = this.#dropped;
    this.#windowStart = windowStart;
    this.#taken = new Map();
    this.#dropped = 0;
    return dropped;
  }
}
