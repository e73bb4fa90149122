/**
 * Failing polls: the table is unavailable, or a setting has become wrong. Polls are retried with backoff. The log has one line
 * when they begin to fail, and one with their number when they work again.
 */
import { type Backoff, backoffMs } from '../../base/retry.ts';
import { type Instant, after, between, durationMs } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { BackendError } from './backend-error.ts';

const pollBackoff = { baseMs: 250, maxMs: 30_000 } as const satisfies Backoff;

interface Outage {
  readonly since: Instant;
  readonly polls: number;
  readonly failedAt: Instant;
  readonly retryAt: Instant;
  /** the reported error text */
  readonly reportedKind: string;
}

export const isOutage = (error: unknown): error is Unavailable | BackendError =>
  error instanceof Unavailable || error instanceof BackendError;

export class PollFailures {
  readonly #warn: (line: string) => void;
  #outage: Outage | undefined;

  constructor(warn: (line: string) => void) {
    this.#warn = warn;
  }

  /** Whether polls pause now and slots get nothing. A clock that was set back does not extend the pause. */
  isBackingOff(now: Instant): boolean {
    return this.#outage !== undefined && now >= this.#outage.failedAt && now < this.#outage.retryAt;
  }

  /** @returns whether the caller must throw the error: a wrong setting that was not yet reported */
  recordFailure(error: Unavailable | BackendError, now: Instant): boolean {
    const previousOutage = this.#outage;
    const isTemporary = error instanceof Unavailable;
    const kind = isTemporary ? 'unavailable' : error.code;
    const polls = (previousOutage?.polls ?? 0) + 1;
    const wait = durationMs(backoffMs(pollBackoff, polls));
    this.#outage = { since: previousOutage?.since ?? now, polls, failedAt: now, retryAt: after(now, wait), reportedKind: kind };
    if (previousOutage?.reportedKind === kind) return false;
    if (isTemporary)
      this.#warn(
        `The poll for runs failed: ${error.message}${causeOf(error)}. It is retried at least every ${pollBackoff.maxMs / 1_000} s, without another line.`,
      );
    return !isTemporary;
  }

  recordSuccess(now: Instant): void {
    if (this.#outage === undefined) return;
    const { since, polls } = this.#outage;
    this.#outage = undefined;
    const elapsedSeconds = Math.round(between(since, now) / 1_000);
    this.#warn(`The poll for runs works again. ${polls} polls failed in ${elapsedSeconds} s.`);
  }
}

const causeOf = ({ cause }: Error): string => (cause instanceof Error ? ` (${cause.name}: ${cause.message})` : '');
