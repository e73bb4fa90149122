/**
 * Holds each fold that the system keeps against the log that it is of (invariant 6): the log is folded anew from its
 * first commit on at every commit, and what a warm environment has, or a snapshot with what came after it, must be that.
 */
import canonicalize from 'canonicalize';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type RunState, applyCommit, emptyState } from '../../lib/engine/log/fold.ts';
import { storeFold } from '../../lib/engine/log/stored-fold.ts';
import type { MemoryWorld } from '../../lib/memory/memory-world.ts';
import type { RunFold } from '../../lib/service/read-log.ts';
import { readRun } from '../../lib/service/read-log.ts';
import { snapshotOf } from '../../lib/service/snapshots.ts';
import { WarmFolds } from '../../lib/service/warm-folds.ts';
import { runInvariant } from './violation.ts';

interface Folded {
  readonly address: RunAddress;
  readonly log: Commit[];
  /** goes on with the log, and is folded anew from its first commit now and then */
  state: RunState;
  /** what the log amounts to with some of its commits, as text */
  readonly meanings: Map<number, string>;
}

/** A log that is longer is folded anew at every so many commits, or long runs would take the square of their length. */
const anewUpTo = 32;

export class FoldWatch {
  readonly #runs = new Map<string, Folded>();
  /** folds that were held against their logs */
  compared = 0;

  committed(address: RunAddress, commit: Commit): void {
    const run = this.#runs.get(address.runId) ?? { address, log: [], state: emptyState(), meanings: new Map<number, string>() };
    this.#runs.set(address.runId, run);
    run.log.push(commit);
    applyCommit(run.state, commit);
    if (run.log.length > anewUpTo && run.log.length % anewUpTo !== 0) return;
    const gone = run.state;
    run.state = anew(run.log);
    run.meanings.set(commit.number, meaningOf(run.state));
    this.compare(address, gone, 'what went on with the log');
  }

  /** @param what somebody has it */
  compare({ runId }: RunAddress, state: RunState, what: string): void {
    const run = this.#runs.get(runId);
    if (state.asOf === 0) return;
    this.compared += 1;
    const isSame =
      run !== undefined && state.asOf <= run.log.length && isSameMeaning(meaningIn(run, state.asOf), meaningOf(state));
    runInvariant(6, isSame, `${what} of ${runId} is not what its log amounts to with commit ${state.asOf}`);
  }

  /** What was kept in the store, whatever it is by now. */
  async compareSnapshot(memory: MemoryWorld, run: RunAddress): Promise<void> {
    const state = await snapshotOf(memory, run);
    if (state !== undefined) this.compare(run, state, 'a snapshot');
  }

  /** Who comes now and reads a run for the first time. */
  async judge(memory: MemoryWorld): Promise<void> {
    for (const { address, log } of this.#runs.values()) {
      const fold = await readRun(memory, address);
      if (fold === undefined) continue;
      this.compare(address, fold.state, 'what is read');
      runInvariant(6, fold.state.asOf === log.length, `of ${address.runId} ${fold.state.asOf} of ${log.length} commits are read`);
    }
  }
}

/** What an environment keeps, looked at whenever it is taken and put back. */
export class WatchedFolds extends WarmFolds {
  readonly #watch: FoldWatch;

  constructor(watch: FoldWatch) {
    super();
    this.#watch = watch;
  }

  override async take(...given: Parameters<WarmFolds['take']>): Promise<RunFold | undefined> {
    const fold = await super.take(...given);
    if (fold !== undefined) this.#watch.compare(fold.head.address, fold.state, 'a fold that was taken');
    return fold;
  }

  override keep(fold: RunFold): void {
    this.#watch.compare(fold.head.address, fold.state, 'a fold that is kept');
    super.keep(fold);
  }
}

function meaningIn({ log, state, meanings }: Folded, asOf: number): string {
  const meaning = meanings.get(asOf) ?? meaningOf(asOf === state.asOf ? state : anew(log.slice(0, asOf)));
  meanings.set(asOf, meaning);
  return meaning;
}

function anew(log: readonly Commit[]): RunState {
  const state = emptyState();
  for (const commit of log) applyCommit(state, commit);
  return state;
}

/** All of it, in an order that does not depend on how it came about. What is open is said beside the nodes: it is kept apart. */
function meaningOf(state: RunState): string {
  const { nodes, written, passes, ...rest } = storeFold(state);
  const open = [...state.open.keys()].toSorted();
  return JSON.stringify({
    ...rest,
    open,
    nodes: nodes.toSorted(by(({ nodeId, iteration }) => `${nodeId}@${iteration}`)),
    written: written.toSorted(by(({ key }) => key)),
    passes: passes.toSorted(by(({ iteration }) => iteration)),
  });
}

const by =
  <Item>(name: (item: Item) => string) =>
  (one: Item, other: Item): number =>
    name(one) < name(other) ? -1 : 1;

/** What was stored may have the same keys in another order. */
const isSameMeaning = (one: string, other: string): boolean =>
  one === other || canonicalize(JSON.parse(one)) === canonicalize(JSON.parse(other));
