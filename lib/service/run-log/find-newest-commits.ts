/**
 * Finds the newest commits of many runs with batched reads of single commits, one batch for all runs in each round. Commit numbers
 * are dense, so each run's newest commit is found by a search: growing steps from the known commit, then bisection. A run that is n
 * commits ahead takes about log3(n) rounds, however many runs the batch has.
 */
import { type CommitNo, commitNo } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import type { CommitKey } from '../../ports/run-log.ts';
import type { Deps } from '../deps.ts';

/** DynamoDB's maximum number of keys in a batch. A round of at most 50 runs is one request. */
const keysPerRound = 100;
/** Two commits of each run divide its search into three parts. More than eight would read commits that most runs do not have. */
const [minKeysPerRun, maxKeysPerRun] = [2, 8];
/** First and last commit that a round of growing steps reads, above the known commit. A run with ten nodes is 9 to 12 ahead. */
const [firstStep, secondStep] = [
  [1, 9],
  [12, 36],
] as const;
const growth = 9;
/** The newest commit of a run that is at most this far ahead of the known one is found in three rounds (a test counts them). */
export const commitsFoundInThreeReads = 11;

/** A run, and a commit of it that exists. */
interface Search extends CommitKey {
  /** the newest commit that was read */
  newest: Commit | undefined;
  /** the lowest number that was free; undefined while the search takes growing steps */
  free: number | undefined;
}

/**
 * The newest commit of each run above its known one, in the order of the runs; undefined if there is none. Commits that are appended
 * during the search may be missing.
 * @param known a commit that exists, of each run
 * @param isLast whether no commit can follow this one; the search of its run stops there
 */
export async function findNewestCommits(
  { log }: Pick<Deps, 'log'>,
  known: readonly CommitKey[],
  isLast: (commit: Commit) => boolean,
): Promise<readonly (Commit | undefined)[]> {
  const searches = known.map(({ run, number }): Search => ({ run, number, newest: undefined, free: undefined }));
  for (let [round, open] = [0, searches]; open.length > 0; round += 1) {
    const keysPerRun = Math.min(Math.max(Math.floor(keysPerRound / open.length), minKeysPerRun), maxKeysPerRun);
    const keys = open.flatMap((search) =>
      numbersToRead(search, round, keysPerRun).map((number) => ({ search, run: search.run, number: commitNo(number) })),
    );
    const commits = await log.commits(keys.map(({ run, number }) => ({ run, number })));
    // In the order of the numbers. A commit above a free number was appended during the read.
    for (const [index, { search, number }] of keys.entries()) note(search, number, commits[index]);
    open = open.filter((search) => !isFound(search, isLast));
  }
  return searches.map(({ newest }) => newest);
}

const lowOf = ({ newest, number }: Search): number => newest?.number ?? number;

/** The numbers that a round reads of one run, in ascending order. */
function numbersToRead(search: Search, round: number, count: number): readonly number[] {
  const { number, free } = search;
  if (free === undefined) {
    const [first, last] = round === 0 ? firstStep : secondStep.map((step) => step * growth ** (round - 1));
    return spread(number + (first ?? 0), number + (last ?? 0), count);
  }
  const low = lowOf(search);
  const unknown = free - low - 1;
  const part = (unknown + 1) / (Math.min(count, unknown) + 1);
  return Array.from({ length: Math.min(count, unknown) }, (_, index) => low + Math.round(part * (index + 1)));
}

/** `count` numbers from `first` to `last`, at equal distances. */
const spread = (first: number, last: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + Math.round(((last - first) * index) / (count - 1)));

function note(search: Search, number: CommitNo, commit: Commit | undefined): void {
  if (commit !== undefined) {
    search.newest = commit;
    if (search.free !== undefined && search.free < number) search.free = undefined;
  } else if (search.free === undefined || number < search.free) search.free = number;
}

const isFound = (search: Search, isLast: (commit: Commit) => boolean): boolean =>
  (search.newest !== undefined && isLast(search.newest)) || (search.free !== undefined && search.free === lowOf(search) + 1);
