/**
 * How many failed authentications one warm function records: a write for each would let anybody buy writes. The rest are
 * counted, and the count is logged.
 */
import { type Instant, instant, minutes } from '../../engine/time.ts';
import type { KeyId } from '../../engine/ids.ts';
import type { Deps } from '../deps.ts';

const windowMs = minutes(1);
/** A minute, for each key that was named, and for all those together that named none. */
export const maxFailuresRecorded = 60;

export class FailureBudget {
  readonly #clock: Deps['clock'];
  #windowStart: Instant = instant(0);
  #taken = new Map<KeyId | undefined, number>();
  #dropped = 0;

  constructor(clock: Deps['clock']) {
    this.#clock = clock;
  }

  /** Whether this failure is to be recorded. `keyId`: of a key that there is, so that guesses cannot fill the memory. */
  take(keyId: KeyId | undefined): boolean {
    const taken = this.#taken.get(keyId) ?? 0;
    if (taken >= maxFailuresRecorded) {
      this.#dropped += 1;
      return false;
    }
    this.#taken.set(keyId, taken + 1);
    return true;
  }

  /** Begins a new minute where one is over: how many failures were not recorded in the last; 0 while it goes on. */
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
