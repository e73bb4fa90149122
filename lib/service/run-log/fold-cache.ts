/**
 * A warm worker's cache of the folds of its recent runs. The worker uses a cached fold as it is only if the fold is as recent as the
 * message. In a chain it is, so the worker reads nothing.
 */
import { LRUCache } from 'lru-cache';
import type { CommitNo, RunAddress } from '../../engine/ids.ts';
import { type RunEnd, isTerminal } from '../../engine/log/fold.ts';
import type { NodeJob } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { foldOfCarried, trustedRun } from './carried-run.ts';
import { type RunFold, readRunFold, readTail } from './read-run-fold.ts';

/** A fold of a short run takes a few kilobytes. */
const maxCachedFolds = 200;
/** Of the latest commits of all runs, in JSON: only the most recent runs keep them. */
const maxCommitBytes = 8_388_608;

export class FoldCache {
  readonly #folds = new LRUCache<string, RunFold>({
    max: maxCachedFolds,
    dispose: (fold, _key, reason) => {
      if (reason === 'evict') this.#withCommits.delete(fold);
    },
  });
  /** folds that keep their latest commits, the most recent last */
  readonly #withCommits = new Set<RunFold>();

  /**
   * Removes a run's fold from the cache for one message, so that two messages never share a fold.
   * @param options `minCommit` is the commit that caused the message; without it, or with `mustBeFresh`, the log's tail is read
   */
  async take(
    deps: Pick<Deps, 'log'>,
    run: RunAddress,
    options: { readonly minCommit?: CommitNo; readonly mustBeFresh: boolean },
  ): Promise<RunFold | undefined> {
    const cached = this.#folds.get(runKey(run));
    this.#folds.delete(runKey(run));
    const fold = cached ?? (await readRunFold(deps, run, options.minCommit));
    if (fold === undefined) return undefined;
    const isRecentEnough = options.minCommit !== undefined && fold.state.asOf >= options.minCommit && !options.mustBeFresh;
    if (cached !== undefined && !isRecentEnough) await readTail(deps, fold);
    if (options.minCommit !== undefined && fold.state.asOf < options.minCommit) {
      throw new Unavailable(`commit ${options.minCommit} of ${run.runId}, which the message names but no read returns,`);
    }
    return fold;
  }

  /**
   * Removes the fold of the job's run from the cache. If it is not cached, it is the run that the message carries, or it is read.
   * `isRead`: it contains what was committed before the message was taken. A cached or a carried fold may not.
   */
  async takeFor(
    deps: Pick<Deps, 'log' | 'clock'>,
    job: NodeJob,
    delivery: Parameters<typeof trustedRun>[1],
  ): Promise<{ readonly fold: RunFold | undefined; readonly isRead: boolean }> {
    const isCached = this.#folds.has(runKey(job.run));
    const carried = isCached ? undefined : trustedRun(job, delivery, deps.clock.now());
    if (carried !== undefined) return { fold: foldOfCarried(deps, carried), isRead: false };
    // A job in the slow lane may have waited long. A run that has ended since must not use its project's share.
    const mustBeFresh = delivery.isRedelivered || job.slowLane !== undefined;
    const fold = await this.take(deps, job.run, { minCommit: job.commit, mustBeFresh });
    return { fold, isRead: mustBeFresh || !isCached };
  }

  /**
   * Removes a run's fold from the cache for one call.
   * @param mustBeFresh false: a cached fold is not compared with the log; a put then shows whether it was current
   */
  async borrow(
    deps: Pick<Deps, 'log'>,
    run: RunAddress,
    mustBeFresh: boolean,
  ): Promise<{ readonly fold: RunFold | undefined; readonly isFresh: boolean }> {
    const cached = this.#folds.get(runKey(run));
    this.#folds.delete(runKey(run));
    if (cached === undefined) return { fold: await readRunFold(deps, run), isFresh: true };
    if (mustBeFresh) await readTail(deps, cached);
    return { fold: cached, isFresh: mustBeFresh };
  }

  /** Caches a fold for the run's next message. The fold may contain only commits that were read or won. */
  put(fold: RunFold): void {
    this.#folds.set(runKey(fold.head.address), fold);
    this.#limitCommits(fold);
  }

  /** The end of a run whose fold is cached, if it has ended. */
  endOf(run: RunAddress): RunEnd | undefined {
    const progress = this.#folds.get(runKey(run))?.state.progress;
    return progress !== undefined && isTerminal(progress) ? progress : undefined;
  }

  #limitCommits(fold: RunFold): void {
    this.#withCommits.delete(fold);
    if (fold.latest !== undefined) this.#withCommits.add(fold);
    let bytes = 0;
    for (const { latest } of this.#withCommits) bytes += latest?.bytes ?? 0;
    for (const oldest of this.#withCommits) {
      if (bytes <= maxCommitBytes || oldest === fold) return;
      bytes -= oldest.latest?.bytes ?? 0;
      oldest.latest = undefined;
      this.#withCommits.delete(oldest);
    }
  }
}

/** Identifies the run in this process. */
export const runKey = ({ projectId, environment, runId }: RunAddress): string => `${projectId}#${environment}#${runId}`;
