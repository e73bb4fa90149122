/** Judges that no run outlives its deadline: by then, or soon after, it has ended, or what it did is being undone. */
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type Instant, minutes } from '../../lib/engine/time.ts';
import { runInvariant } from './violation.ts';

const endings: ReadonlySet<string> = new Set([
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_TIMED_OUT',
  'RUN_CANCELLED',
  'ROLLBACK_STARTED',
]);

/** The sweep looks at the minute of a deadline when it has passed. */
const mostCalmMs = minutes(3);
/** Many a look dies half-way, and clocks of those who look are wrong. */
const mostMs = minutes(20);

export class DeadlineWatch {
  readonly #mostMs: number;
  readonly #endedAt = new Map<string, Instant>();
  /** runs that were ended by their deadline */
  passed = 0;

  /** @param isPlain nothing goes wrong, and nobody holds anything up */
  constructor(isPlain: boolean) {
    this.#mostMs = isPlain ? mostCalmMs : mostMs;
  }

  committed({ runId }: RunAddress, { events }: Commit, now: Instant): void {
    for (const { type } of events) {
      if (endings.has(type) && !this.#endedAt.has(runId)) this.#endedAt.set(runId, now);
      if (type === 'RUN_TIMED_OUT') this.passed += 1;
    }
  }

  judge(deadlines: ReadonlyMap<string, Instant>): void {
    for (const [runId, deadlineAt] of deadlines) {
      const lateMs = (this.#endedAt.get(runId) ?? deadlineAt) - deadlineAt;
      runInvariant(5, lateMs <= this.#mostMs, `${runId} went on for ${lateMs} ms behind its deadline`);
    }
  }
}
