/**
 * Compares each cached fold and snapshot with its log (invariant 6). Whenever the system reads or stores one, the checker
 * folds the log from its first commit to the same commit and compares the results.
 */
import { isDeepStrictEqual } from 'node:util';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type RunState, applyCommit, emptyState } from '../../lib/engine/log/fold.ts';
import { storeFold } from '../../lib/engine/log/stored-fold.ts';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import type { RunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { readSnapshot } from '../../lib/service/run-log/snapshots.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { runInvariant } from './violation.ts';

interface Folded {
  readonly address: RunAddress;
  readonly log: Commit[];
  /** of a long log: continued, and folded again from its first commit at intervals */
  state: RunState;
  /** the fold of a prefix of the log */
  readonly meanings: Map<number, Known>;
}

interface Known {
  /** the same state as text, in another order of keys */
  readonly texts: Set<string>;
  /** computed on demand: the order of keys is mostly equal */
  inOrder?: Meaning;
}

/** A longer log is folded again only at this interval; otherwise long runs would take quadratic time. */
const anewUpTo = 32;

export class FoldChecker {
  readonly #runs = new Map<string, Folded>();
  /** folds compared with their logs */
  compared = 0;

  committed(address: RunAddress, commit: Commit): void {
    const run = this.#runs.get(address.runId) ?? {
      address,
      log: [],
      state: emptyState(),
      meanings: new Map<number, Known>(),
    };
    this.#runs.set(address.runId, run);
    run.log.push(commit);
    if (run.log.length <= anewUpTo) return;
    if (run.log.length % anewUpTo === 1) run.state = anew(run.log);
    else applyCommit(run.state, commit);
  }

  /** @param what the kind of stored fold */
  compare({ runId }: RunAddress, state: RunState, what: string): void {
    const run = this.#runs.get(runId);
    if (state.asOf === 0) return;
    this.compared += 1;
    const isSame = run !== undefined && state.asOf <= run.log.length && isAmong(knownIn(run, state.asOf), meaningOf(state));
    runInvariant(6, isSame, () => `${what} of ${runId} differs from the fold of its log up to commit ${state.asOf}`);
  }

  /** Checks a fold from the store. */
  async compareSnapshot(memory: MemoryPorts, run: RunAddress): Promise<void> {
    const state = await readSnapshot(memory, run);
    if (state !== undefined) this.compare(run, state, 'a snapshot');
  }

  /** Checks a first read of a run. */
  async check(memory: MemoryPorts): Promise<void> {
    for (const { address, log } of this.#runs.values()) {
      const fold = await readRunFold(memory, address);
      if (fold === undefined) continue;
      this.compare(address, fold.state, 'what is read');
      runInvariant(6, fold.state.asOf === log.length, `of ${address.runId} ${fold.state.asOf} of ${log.length} commits are read`);
    }
  }
}

/** Wraps the fold cache of an environment and checks each read and write. */
export class CheckedFolds extends FoldCache {
  readonly #watch: FoldChecker;

  constructor(watch: FoldChecker) {
    super();
    this.#watch = watch;
  }

  override async take(...given: Parameters<FoldCache['take']>): Promise<RunFold | undefined> {
    const fold = await super.take(...given);
    if (fold !== undefined) this.#watch.compare(fold.head.address, fold.state, 'a fold that was taken');
    return fold;
  }

  override put(fold: RunFold): void {
    this.#watch.compare(fold.head.address, fold.state, 'a fold that is kept');
    super.put(fold);
  }
}

/** The fold of a prefix of the log. */
function knownIn({ log, state, meanings }: Folded, asOf: number): Known {
  const known = meanings.get(asOf) ?? { texts: new Set([meaningOf(asOf === state.asOf ? state : anew(log.slice(0, asOf)))]) };
  meanings.set(asOf, known);
  return known;
}

function anew(log: readonly Commit[]): RunState {
  const state = emptyState();
  for (const commit of log) applyCommit(state, commit);
  return state;
}

/** The whole state as text, including the separate list of open nodes. */
const meaningOf = (state: RunState): string => JSON.stringify({ ...storeFold(state), open: [...state.open.keys()] });

/** Stored and forked folds may have another order of keys; a fold that was found equal is remembered. */
function isAmong(known: Known, meaning: string): boolean {
  const { texts } = known;
  if (texts.has(meaning)) return true;
  const [first = ''] = texts;
  known.inOrder ??= inOrder(first);
  if (!isDeepStrictEqual(known.inOrder, inOrder(meaning))) return false;
  texts.add(meaning);
  return true;
}

interface Meaning {
  readonly open: readonly string[];
  readonly nodes: readonly { readonly nodeId: string; readonly iteration: string }[];
  readonly contextWrites: readonly { readonly key: string }[];
  readonly iterations: readonly { readonly iteration: string }[];
}

function inOrder(meaning: string): Meaning {
  const { open, nodes, contextWrites, iterations, ...rest }: Meaning = JSON.parse(meaning);
  return {
    ...rest,
    open: open.toSorted(),
    nodes: nodes.toSorted(by(({ nodeId, iteration }) => `${nodeId}@${iteration}`)),
    contextWrites: contextWrites.toSorted(by(({ key }) => key)),
    iterations: iterations.toSorted(by(({ iteration }) => iteration)),
  };
}

const by =
  <Item>(name: (item: Item) => string) =>
  (one: Item, other: Item): number =>
    name(one) < name(other) ? -1 : 1;
