/**
 * The checker folds every run independently at each commit and checks all runs at the end. The fold's own assertions cover
 * invariants 1 to 4: a missing commit, a second completion, a second dispatch of a join, or any event after the end. At the
 * end, every acknowledged run must have ended, and its head must say so (5).
 */
import { createHash } from 'node:crypto';
import { runInvariant } from './violation.ts';
import type { CommitNo, RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type RunState, applyCommit, emptyState, isTerminal } from '../../lib/engine/log/fold.ts';
import type { RunStatus } from '../../lib/engine/log/head.ts';
import type { Instant } from '../../lib/engine/time.ts';

interface Watched {
  readonly address: RunAddress;
  readonly state: RunState;
  /** why it was resumed: each request says another reason */
  readonly resumedFor: Set<string>;
  /** each commit as it was acknowledged, to compare with what the log says at the end */
  readonly commits: Map<number, string>;
}

/** What is asked of a log in the end. */
interface JudgedLog {
  head(run: RunAddress): Promise<{ readonly projection: { readonly status: RunStatus }; readonly commit: Commit } | undefined>;
  commitsAfter(run: RunAddress, after: CommitNo): Promise<readonly Commit[]>;
}

export class Checker {
  readonly #runs = new Map<string, Watched>();
  readonly acknowledged = new Map<string, RunAddress>();
  commits = 0;
  resumptions = 0;
  /** the longest time between two commits of an open run */
  maxStallMs = 0;
  readonly #open = new Set<string>();
  /** runs that a run has called */
  readonly #called = new Set<string>();
  readonly #lastCommitAt = new Map<string, number>();
  /** of all commits in their order, and of the heads in the end */
  readonly #history = createHash('sha256');

  /** A put was answered with success, or is known to have landed. */
  committed(address: RunAddress, commit: Commit, now: Instant): void {
    this.commits += 1;
    this.maxStallMs = Math.max(this.maxStallMs, now - (this.#lastCommitAt.get(address.runId) ?? now));
    this.#lastCommitAt.set(address.runId, now);
    const watched = this.#runs.get(address.runId) ?? {
      address,
      state: emptyState(),
      resumedFor: new Set<string>(),
      commits: new Map<number, string>(),
    };
    this.#runs.set(address.runId, watched);
    const text = JSON.stringify(commit);
    runInvariant(1, !watched.commits.has(commit.number), () => `commit ${commit.number} of ${address.runId} was written twice`);
    watched.commits.set(commit.number, text);
    this.#history.update(`${address.environment} ${address.runId} ${now} ${text}\n`);
    for (const event of commit.events) {
      if (event.type !== 'RUN_RESUMED' || event.token === undefined || event.reason === undefined) continue;
      runInvariant(9, !watched.resumedFor.has(event.reason), `${address.runId} was resumed twice for one request`);
      watched.resumedFor.add(event.reason);
      this.resumptions += 1;
    }
    try {
      applyCommit(watched.state, commit);
      for (const event of commit.events) if (event.type === 'SUBFLOW_CALLED') this.#called.add(event.childRunId);
      if (isTerminal(watched.state.progress)) this.#open.delete(address.runId);
      else this.#open.add(address.runId);
    } catch (thrown) {
      runInvariant(2, false, `${address.runId}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }

  /** A client was told that its request resumed the run. */
  resumed(runId: string, reason: string): void {
    runInvariant(
      9,
      this.#runs.get(runId)?.resumedFor.has(reason) === true,
      `${runId} has no resume event although the client got a success response`,
    );
  }

  acknowledge(address: RunAddress): void {
    this.acknowledged.set(address.runId, address);
  }

  /** All runs that were acknowledged have ended, and all that they called. */
  get isQuiet(): boolean {
    return this.#open.size === 0 && [...this.acknowledged.keys()].every((runId) => this.#runs.has(runId));
  }

  /** A run that no other run called is open. */
  get hasOpenStart(): boolean {
    return [...this.#open].some((runId) => !this.#called.has(runId));
  }

  /** How the run ended, by its own log. */
  endOf(runId: string): string | undefined {
    const progress = this.#runs.get(runId)?.state.progress;
    return progress !== undefined && isTerminal(progress) ? progress.status : undefined;
  }

  /** All runs, as their own logs tell of them. */
  get runs(): readonly { readonly address: RunAddress; readonly state: RunState }[] {
    return [...this.#runs.values()];
  }

  stateOf(runId: string): RunState | undefined {
    return this.#runs.get(runId)?.state;
  }

  async check(log: JudgedLog): Promise<void> {
    for (const [runId, address] of this.acknowledged) {
      const watched = this.#runs.get(runId);
      runInvariant(9, watched !== undefined, `${runId} was acknowledged but does not exist`);
      const head = await log.head(address);
      runInvariant(9, head !== undefined, `${runId} was acknowledged but has no head`);
    }
    for (const { address, state, commits } of this.#runs.values()) {
      runInvariant(5, isTerminal(state.progress), `${address.runId} has stalled: ${describe(state)}`);
      const head = await log.head(address);
      runInvariant(
        5,
        head?.projection.status === state.progress.status,
        `${address.runId} ended as ${state.progress.status}, and its head says ${head?.projection.status}`,
      );
      const logged = head === undefined ? [] : [head.commit, ...(await log.commitsAfter(address, head.commit.number))];
      runInvariant(
        1,
        logged.length === commits.size,
        `${address.runId} has ${logged.length} commits in its log, and ${commits.size} were acknowledged`,
      );
      this.#history.update(`${address.runId} ${JSON.stringify(head?.projection)}\n`);
      for (const commit of logged) {
        runInvariant(
          1,
          commits.get(commit.number) === JSON.stringify(commit),
          () => `commit ${commit.number} of ${address.runId} was changed`,
        );
      }
    }
  }

  /** All commits with their times: the same for the same seed, byte for byte. */
  get history(): string {
    return this.#history.copy().digest('hex');
  }

  /** The state of each run in words, the same for the same history. */
  get summary(): readonly string[] {
    return [...this.#runs.values()].map(
      ({ address, state, commits }) => `${address.runId} ${state.progress.status} ${commits.size} ${state.nextEventId}`,
    );
  }
}

const describe = (state: RunState): string =>
  [...state.open.keys()].map((key) => `${key}=${state.nodes.get(key)?.status}`).join(' ');
