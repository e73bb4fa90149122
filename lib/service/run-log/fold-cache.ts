/**
 * The folds a warm worker keeps of its recent runs. A kept fold older than the message that asks is not used as it is;
 * with a fold as new as the message, a chain goes on without reading anything.
 */
import type { CommitNo, RunAddress } from '../../engine/ids.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type RunFold, readRunFold, readTail } from './read-run-fold.ts';

/** Runs kept at most; a fold of a short run is a few kilobytes. */
const maxCachedFolds = 200;

export class FoldCache {
  readonly #folds = new Map<string, RunFold>();

  /**
   * Takes a run's fold for the time of one message: nobody else gets it until it is kept again.
   * @param atLeast the commit that caused the message; absent, or with `mustBeFresh`, the tail is read first
   */
  async take(
    deps: Pick<Deps, 'log'>,
    run: RunAddress,
    options: { readonly minCommit?: CommitNo; readonly mustBeFresh: boolean },
  ): Promise<RunFold | undefined> {
    const cached = this.#folds.get(keyOf(run));
    this.#folds.delete(keyOf(run));
    const fold = cached ?? (await readRunFold(deps, run, options.minCommit));
    if (fold === undefined) return undefined;
    const isRecentEnough = options.minCommit !== undefined && fold.state.asOf >= options.minCommit && !options.mustBeFresh;
    if (cached !== undefined && !isRecentEnough) await readTail(deps, fold);
    if (options.minCommit !== undefined && fold.state.asOf < options.minCommit) {
      throw new Unavailable(`commit ${options.minCommit}, which a message names and no read shows,`);
    }
    return fold;
  }

  /** Keeps a fold for the run's next message. Only a fold that holds exactly what was read and won may be kept. */
  put(fold: RunFold): void {
    this.#folds.set(keyOf(fold.head.address), fold);
    const oldest = this.#folds.keys().next();
    if (this.#folds.size > maxCachedFolds && oldest.done !== true) this.#folds.delete(oldest.value);
  }
}

const keyOf = ({ projectId, environment, runId }: RunAddress): string => `${projectId}#${environment}#${runId}`;
