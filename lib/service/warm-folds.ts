/**
 * The folds a warm worker keeps of its recent runs. A kept fold older than the message that asks is not used as it is;
 * with a fold as new as the message, a chain goes on without reading anything.
 */
import type { CommitNo, RunAddress } from '../engine/ids.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { type RunFold, readRun, readTail } from './read-log.ts';

/** Runs kept at most; a fold of a short run is a few kilobytes. */
const mostKept = 200;

export class WarmFolds {
  readonly #kept = new Map<string, RunFold>();

  /**
   * Takes a run's fold for the time of one message: nobody else gets it until it is kept again.
   * @param atLeast the commit that caused the message; absent, or with `isFresh`, the tail is read first
   */
  async take(
    deps: Pick<Deps, 'log'>,
    run: RunAddress,
    wanted: { readonly atLeast?: CommitNo; readonly isFresh: boolean },
  ): Promise<RunFold | undefined> {
    const kept = this.#kept.get(nameOf(run));
    this.#kept.delete(nameOf(run));
    const fold = kept ?? (await readRun(deps, run, wanted.atLeast));
    if (fold === undefined) return undefined;
    const isNewEnough = wanted.atLeast !== undefined && fold.state.asOf >= wanted.atLeast && !wanted.isFresh;
    if (kept !== undefined && !isNewEnough) await readTail(deps, fold);
    if (wanted.atLeast !== undefined && fold.state.asOf < wanted.atLeast) {
      throw new Unavailable(`commit ${wanted.atLeast}, which a message names and no read shows,`);
    }
    return fold;
  }

  /** Keeps a fold for the run's next message. Only a fold that holds exactly what was read and won may be kept. */
  keep(fold: RunFold): void {
    this.#kept.set(nameOf(fold.head.address), fold);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > mostKept && oldest.done !== true) this.#kept.delete(oldest.value);
  }
}

const nameOf = ({ projectId, environment, runId }: RunAddress): string => `${projectId}#${environment}#${runId}`;
