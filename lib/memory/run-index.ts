/** The run index in memory. Its lists are always up to date; callers must not rely on that. */
import { defined } from '../base/defined.ts';
import { namespaceOf } from '../engine/external/namespace.ts';
import type { RunAddress, Scope } from '../engine/ids.ts';
import type { WorkerCrash } from '../engine/log/deliveries.ts';
import type { Head } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import type { ExternalRuns, Listing } from '../ports/external-runs.ts';
import {
  type DueEntry,
  type DueRun,
  type ListPosition,
  type ListedState,
  type PageRequest,
  type RunIndex,
  type RunPage,
  type SharedDueEntry,
  listedExternalState,
  listedState,
} from '../ports/run-index.ts';
import { frozenCopy } from './frozen-copy.ts';
import { type MemoryRuns, runName } from './runs.ts';

export class MemoryRunIndex implements RunIndex {
  readonly #runs: MemoryRuns;
  readonly #externalRuns: Pick<ExternalRuns, 'listings'>;
  readonly #due = new Map<number, Map<string, DueRun>>();
  #sweptMinute: number | undefined;
  readonly #crashes: WorkerCrash[] = [];

  constructor(runs: MemoryRuns, externalRuns: Pick<ExternalRuns, 'listings'>) {
    this.#runs = runs;
    this.#externalRuns = externalRuns;
  }

  async list(scope: Scope, options: PageRequest): Promise<RunPage> {
    return page(this.#runs.heads(scope), await this.#listings(scope, options), options);
  }

  async listByState(scope: Scope, state: ListedState, options: PageRequest): Promise<RunPage> {
    const listings = await this.#listings(scope, options);
    return page(
      this.#runs.heads(scope).filter(({ projection }) => listedState(projection) === state),
      listings.filter((listing) => listedExternalState(listing) === state),
      options,
    );
  }

  async #listings(scope: Scope, { includesExternal }: PageRequest): Promise<readonly Listing[]> {
    if (includesExternal !== true) return [];
    return this.#externalRuns.listings(namespaceOf(scope), { order: 'newest first', limit: Number.MAX_SAFE_INTEGER });
  }

  async markDue({ run, minute, isRecordedOnRun, isSecondCheck }: DueEntry): Promise<void> {
    if (isRecordedOnRun) this.#runs.record(run).dueMinutes.add(minute);
    const runs = this.#due.get(minute) ?? new Map<string, DueRun>();
    if (isSecondCheck && runs.has(runName(run))) return;
    this.#due.set(minute, runs.set(runName(run), frozenCopy(isSecondCheck ? { ...run, isSecondCheck } : run)));
  }

  async markDueTogether({ scope, runIds, minute }: SharedDueEntry): Promise<void> {
    for (const runId of runIds) await this.markDue({ run: { ...scope, runId }, minute });
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

const page = (heads: readonly Head[], listings: readonly Listing[], { limit, after }: PageRequest): RunPage => {
  const rest = [
    ...heads.map((head) => ({ head, position: positionOf(head) })),
    ...listings.map((listing) => ({ listing, position: { createdAt: listing.createdAt, runId: listing.runId } })),
  ]
    .filter(({ position }) => after === undefined || newestFirst(position, after) > 0)
    .toSorted((one, other) => newestFirst(one.position, other.position));
  const rows = rest.slice(0, limit);
  const externalRuns = rows.flatMap((row) => ('listing' in row ? [row.listing] : []));
  return defined({
    heads: rows.flatMap((row) => ('head' in row ? [row.head] : [])),
    externalRuns: externalRuns.length === 0 ? undefined : externalRuns,
    next: rest.length > limit ? rows.at(-1)?.position : undefined,
  });
};

const positionOf = (head: Head): ListPosition => ({ createdAt: head.createdAt, runId: head.address.runId });

const newestFirst = (one: ListPosition, other: ListPosition): number =>
  other.createdAt - one.createdAt || (one.runId < other.runId ? 1 : one.runId > other.runId ? -1 : 0);
