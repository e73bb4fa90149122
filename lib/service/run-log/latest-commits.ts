/**
 * The latest commits of a run, which a process keeps beside the run's fold where the run's kind answers with events: an answer then
 * needs no read of the log. The commits have no gap, and the last one is the newest of the fold.
 */
import type { CommitNo } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';

/**
 * Of the commits in JSON, of one run. It holds five thousand small steps; a longer log is read from its table, in whole for each message of
 * the 4.x line.
 */
const maxBytes = 4_194_304;

interface Kept {
  readonly commit: Commit;
  readonly bytes: number;
}

export class LatestCommits {
  #kept: Kept[] = [];
  #bytes = 0;

  /** of the commits in JSON */
  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps the next commit, and drops the oldest ones above the limit. */
  add(commit: Commit): void {
    const bytes = JSON.stringify(commit.events).length;
    this.#kept.push({ commit, bytes });
    this.#bytes += bytes;
    while (this.#bytes > maxBytes) this.#bytes -= this.#kept.shift()?.bytes ?? 0;
  }

  /** Replaces all, by commits that were read in one piece. */
  replace(commits: readonly Commit[]): void {
    this.#kept = [];
    this.#bytes = 0;
    for (const commit of commits) this.add(commit);
  }

  /** The commits of these numbers that are kept. */
  of(numbers: readonly CommitNo[]): readonly Commit[] {
    const first = this.#kept[0]?.commit.number ?? 0;
    return numbers.flatMap((number) => this.#kept[number - first]?.commit ?? []);
  }

  /**
   * All commits with events after a position.
   * @returns undefined if some of them are not kept
   */
  after(position: number): readonly Commit[] | undefined {
    const [oldest] = this.#kept;
    if (oldest === undefined || oldest.commit.firstEventId > position + 1) return undefined;
    // From the end, because most answers are about the last events.
    const first = this.#kept.findLastIndex(({ commit }) => commit.firstEventId <= position + 1);
    return this.#kept.slice(first).map(({ commit }) => commit);
  }
}
