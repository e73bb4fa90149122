/** The run index in memory. Its lists are always up to date; callers must not rely on that. */
import type { RunAddress, Scope } from '../engine/ids.ts';
import type { WorkerCrash } from '../engine/log/deliveries.ts';
import type { Head } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import {
  type DueEntry,
  type DueRun,
  type ListPosition,
  type ListedState,
  type RunIndex,
  type RunPage,
  listedState,
} from '../ports/run-index.ts';
import { frozenCopy } from './frozen-copy.ts';
import { type MemoryRuns, runName } from './runs.ts';

interface Listing {
  readonly limit: number;
  readonly after?: ListPosition;
}

export class MemoryRunIndex implements RunIndex {
  readonly #runs: MemoryRuns;
  readonly #due = new Map<number, Map<string, DueRun>>();
  #sweptMinute: number | undefined;
  readonly #crashes: WorkerCrash[] = [];

  constructor(runs: MemoryRuns) {
    this.#runs = runs;
  }

  async list(scope: Scope, options: Listing): Promise<RunPage> {
    return page(this.#runs.heads(scope), options);
  }

  async listByState(scope: Scope, state: ListedState, options: Listing): Promise<RunPage> {
    return page(
      this.#runs.heads(scope).filter(({ projection }) => listedState(projection) === state),
      options,
    );
  }

  async markDue({ run, minute, isRecordedOnRun, isSecondCheck }: DueEntry): Promise<void> {
    if (isRecordedOnRun) this.#runs.record(run).dueMinutes.add(minute);
    const runs = this.#due.get(minute) ?? new Map<string, DueRun>();
    if (isSecondCheck && runs.has(runName(run))) return;
    this.#due.set(minute, runs.set(runName(run), frozenCopy(isSecondCheck ? { ...run, isSecondCheck } : run)));
  }

  async deleteDueEntries(run: RunAddress): Promise<void> {
    const { dueMinutes } = this.#runs.record(run);
    for (const minute of dueMinutes) this.#due.get(minute)?.delete(runName(run));
    dueMinutes.clear();
  }

  async dueIn(minute: number): Promise<readonly DueRun[]> {
    return [...(this.#due.get(minute)?.values() ?? [])];
  }

  async firstDueMinute(first: number, last: number): Promise<number | undefined> {
    const minutes = [...this.#due].flatMap(([minute, runs]) =>
      minute >= first && minute <= last && runs.size > 0 ? [minute] : [],
    );
    return minutes.length === 0 ? undefined : Math.min(...minutes);
  }

  async sweptMinute(): Promise<number | undefined> {
    return this.#sweptMinute;
  }

  async recordSweptMinute(minute: number): Promise<void> {
    this.#sweptMinute = Math.max(minute, this.#sweptMinute ?? minute);
  }

  async recordCrash({ runId }: RunAddress, crash: Omit<WorkerCrash, 'runId'>): Promise<void> {
    this.#crashes.push(frozenCopy({ runId, ...crash }));
  }

  async crashesBetween(from: Instant, to: Instant): Promise<readonly WorkerCrash[]> {
    return this.#crashes.filter(({ noticedAt }) => noticedAt >= from && noticedAt <= to);
  }
}

const page = (heads: readonly Head[], { limit, after }: Listing): RunPage => {
  const rest = heads
    .filter((head) => after === undefined || newestFirst(positionOf(head), after) > 0)
    .toSorted((one, other) => newestFirst(positionOf(one), positionOf(other)));
  const pageHeads = rest.slice(0, limit);
  const last = pageHeads.at(-1);
  return rest.length > limit && last !== undefined ? { heads: pageHeads, next: positionOf(last) } : { heads: pageHeads };
};

const positionOf = (head: Head): ListPosition => ({ createdAt: head.createdAt, runId: head.address.runId });

const newestFirst = (one: ListPosition, other: ListPosition): number =>
  other.createdAt - one.createdAt || (one.runId < other.runId ? 1 : one.runId > other.runId ? -1 : 0);
