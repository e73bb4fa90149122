/**
 * Checks that everything a run has stored outlives it. An open run whose deadline was extended keeps its items until the deadline and
 * the retention have passed, and an ended run keeps them for the retention. What expires is never deleted here, so that the checks of
 * ended runs can read it: DynamoDB and S3 may delete late. An expired item of an open run is a violation at once.
 */
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type RunCreation, latestDeadlineOf } from '../../lib/engine/log/head.ts';
import { type DurationMs, type Instant, hours, instant } from '../../lib/engine/time.ts';
import type { StoredExpiry } from '../../lib/memory/runs.ts';
import { runInvariant } from './violation.ts';

const endings: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED']);

/** A retention message waits for 15 minutes; the sweep finds a lost one after 20 and waits again. */
const mostCalmLagMs = hours(1);
/** The earliest old expiry is a day after the old deadline, plus the retention. With faults, many checks fail half-way. */
const mostLagMs = hours(20);

interface Watched {
  readonly address: RunAddress;
  readonly creation: RunCreation;
  deadlineAt: Instant;
  extendedAt?: Instant;
  endedAt?: Instant;
}

export class ExpiryChecker {
  readonly #retentionMs: DurationMs;
  readonly #mostLagMs: number;
  readonly #runs = new Map<string, Watched>();
  /** extensions of deadlines */
  extensions = 0;

  /** @param isPlain no faults and no delays */
  constructor(retentionMs: DurationMs, isPlain: boolean) {
    this.#retentionMs = retentionMs;
    this.#mostLagMs = isPlain ? mostCalmLagMs : mostLagMs;
  }

  /** @param creation of the run, with its first commit */
  committed(address: RunAddress, { number, events }: Commit, now: Instant, creation: RunCreation | undefined): void {
    if (number === firstCommit && creation !== undefined)
      this.#runs.set(address.runId, { address, creation, deadlineAt: creation.deadlineAt });
    const run = this.#runs.get(address.runId);
    if (run === undefined) return;
    for (const event of events) {
      if (endings.has(event.type)) run.endedAt = now;
      if (event.type !== 'DEADLINE_EXTENDED') continue;
      const limit = latestDeadlineOf(run.creation);
      const isAllowed = event.deadlineAt > run.deadlineAt && event.deadlineAt <= limit;
      runInvariant(
        2,
        isAllowed,
        `the deadline of ${address.runId} was extended to ${event.deadlineAt}, beyond its limit ${limit}`,
      );
      run.deadlineAt = event.deadlineAt;
      run.extendedAt = now;
      this.extensions += 1;
    }
  }

  /** The deadline of the log. */
  deadlineOf(runId: string): Instant | undefined {
    return this.#runs.get(runId)?.deadlineAt;
  }

  /** @param expiriesOf what the stores have of a run */
  check(expiriesOf: (run: RunAddress) => readonly StoredExpiry[], now: Instant): void {
    for (const run of this.#runs.values()) {
      const { address, deadlineAt, extendedAt, endedAt } = run;
      // Only an extension moves an expiry.
      if (extendedAt === undefined) continue;
      const mustLast = now >= extendedAt + this.#mostLagMs ? (endedAt ?? deadlineAt) + this.#retentionMs : (endedAt ?? now);
      for (const { name, expiresAt } of expiriesOf(address))
        runInvariant(
          1,
          expiresAt >= mustLast,
          () => `${name} of ${address.runId} expires at ${expiresAt}, and must last until ${instant(mustLast)}`,
        );
    }
  }
}
