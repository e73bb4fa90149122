/**
 * Checks that each run ends, or starts its rollback, at its deadline or soon after. No fault changes
 * this: a commit decided after the deadline may do nothing else.
 */
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type Instant, minutes, seconds } from '../../lib/engine/time.ts';
import { runInvariant } from './violation.ts';

const endings: ReadonlySet<string> = new Set([
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_TIMED_OUT',
  'RUN_CANCELLED',
  'ROLLBACK_STARTED',
]);
/** An extension is decided after the deadline too (`expiry-checker.ts`). */
const isExtension = ({ events }: Commit): boolean => events.some(({ type }) => type === 'DEADLINE_EXTENDED');

/** A worker ends its run at the deadline, and a delayed recheck ends a waiting run; queues are late by seconds at most. */
const mostCalmMs = seconds(5);
/** The time of a commit is set after its large values are stored, which takes time. */
const decidingMs = seconds(5);
/** With faults, many checks fail half-way, and clocks are wrong. */
const mostMs = minutes(20);

export class DeadlineChecker {
  readonly #mostMs: number;
  readonly #endedAt = new Map<string, Instant>();
  /** runs that were ended by their deadline */
  passed = 0;

  /** @param isPlain no faults and no delays */
  constructor(isPlain: boolean) {
    this.#mostMs = isPlain ? mostCalmMs : mostMs;
  }

  /** @param deadlineAt of the log before this commit */
  committed({ runId }: RunAddress, commit: Commit, now: Instant, deadlineAt: Instant | undefined): void {
    const { number, events, at } = commit;
    // A start may be slow; the first worker then ends the run.
    const isEnding =
      number === firstCommit || this.#endedAt.has(runId) || isExtension(commit) || events.some(({ type }) => endings.has(type));
    const lateMs = at - (deadlineAt ?? at) - decidingMs;
    runInvariant(5, isEnding || lateMs < 0, `${runId} wrote commit ${number} after its deadline and did not end`);
    for (const { type } of events) {
      if (endings.has(type) && !this.#endedAt.has(runId)) this.#endedAt.set(runId, now);
      if (type === 'RUN_TIMED_OUT') this.passed += 1;
    }
  }

  check(deadlines: ReadonlyMap<string, Instant>): void {
    for (const [runId, deadlineAt] of deadlines) {
      const lateMs = (this.#endedAt.get(runId) ?? deadlineAt) - deadlineAt;
      runInvariant(5, lateMs <= this.#mostMs, `${runId} continued for ${lateMs} ms after its deadline`);
    }
  }
}
