/**
 * The log of a code run as one drive of it writes it. A turn goes into the very next slot or did not happen: whoever loses a
 * put must not decide anew, because the code said what it said without knowing what came before it. (`append.ts` is for
 * everybody else.) One that is too large for a slot goes into several, and each of them is such a turn.
 */
import { decideCode } from '../engine/durable/decide.ts';
import type { CodeFact } from '../engine/durable/facts.ts';
import { firstPart, halfOf, mostInPart } from '../engine/durable/turn-parts.ts';
import type { History, Turn, TurnAnswer } from '../engine/durable/turn.ts';
import { type CommitNo, type Nonce, type NodeRef, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import { type Commit, nextCommitNo } from '../engine/log/commit.ts';
import type { Ending, Failure } from '../engine/log/events.ts';
import { applyCommit, isTerminal } from '../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../engine/log/node-state.ts';
import { type Instant, durationMs } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { isWon, untilDefinite } from './append.ts';
import { carryOut } from './carry-out.ts';
import { codeTools } from './decide-code-run.ts';
import type { Decider } from './decide-run.ts';
import { judgeForeign } from './foreign-commit.ts';
import { ofRun } from './jobs-of.ts';
import { loadHistory } from './load-history.ts';
import { measureCommit } from './measure-commit.ts';
import { CommitTooLarge, spillEvents } from './payloads.ts';
import { type RunFold, readTail } from './read-log.ts';
import { saveSnapshot } from './snapshots.ts';

/** What a drive says of itself. */
type DriveFact = Extract<CodeFact, { kind: 'turn-ended' | 'drive-broke' | 'drive-put-off' }>;
export type DriveEnding = Exclude<DriveFact, { kind: 'turn-ended' }>;
type OfRun = Extract<CodeFact, { kind: 'deadline-passed' | 'commit-too-large' }>;

export type Looked =
  | { readonly kind: 'nothing' }
  /** the code is to hear of it */
  | { readonly kind: 'news'; readonly history: History<JsonValue> }
  /** the run has ended, or is not in this drive's hands any more */
  | { readonly kind: 'over'; readonly reason: string };

type Put =
  | { readonly kind: 'won'; readonly commit: Commit }
  | { readonly kind: 'lost' | 'nothing' }
  | { readonly kind: 'too_large'; readonly failure: Failure };

export class DriveLog {
  readonly node: NodeRef;
  readonly startedAt: Instant;
  readonly #decider: Decider;
  readonly #fold: RunFold;
  readonly #open: OpenNode;
  readonly #own = new Set<Nonce>();
  readonly #loaded = new Map<PayloadRef, JsonValue>();
  /** up to here the code was told; behind it are only commits that it need not know of */
  #told: CommitNo | 0;
  #hinted: CommitNo | 0 = 0;
  /** how often the drive was told of news: a turn says how often it had heard of some */
  #hints = 0;
  #isTakenOver = false;
  /** with trouble: nothing more is committed, and the drive's message comes back */
  #isStopped = false;
  readonly #troubles: unknown[] = [];
  /** one thing at a time: all of them move the fold */
  #last: Promise<unknown> = Promise.resolve();
  /** Is called where a turn was answered with `stop` for trouble: whoever watches is to see to the rest. */
  onStop: () => void = () => {};

  /** @param fold fresh; it is this drive's from now on */
  constructor(decider: Decider, fold: RunFold, open: OpenNode) {
    this.#decider = decider;
    this.#fold = fold;
    this.#open = open;
    this.#told = fold.state.asOf;
    this.node = { nodeId: open.nodeId, iteration: open.iteration };
    this.startedAt = decider.deps.clock.now();
  }

  get attempt(): OpenNode['attempt'] {
    return this.#open.attempt;
  }

  /** The run is open, and this drive's to drive. */
  get isOurs(): boolean {
    const node = this.#fold.state.nodes.get(nodeKey(this.#open));
    return !this.#isTakenOver && node !== undefined && isOpen(node) && node.attempt === this.#open.attempt;
  }

  /** What is to be undone, where the code is over. */
  get ending(): Ending | undefined {
    return this.#fold.state.code?.ending;
  }

  history(): Promise<History<JsonValue>> {
    return loadHistory(this.#decider.deps, this.#fold, this.#loaded);
  }

  /** Never rejects: with trouble it stops, and `close` throws that. */
  turn(turn: Turn): Promise<TurnAnswer> {
    return this.#alone(async () => {
      try {
        return await this.#turn(turn);
      } catch (trouble) {
        this.#troubles.push(trouble);
        this.#isStopped = true;
        this.onStop();
        return { kind: 'stop' };
      }
    });
  }

  /** Looks what others have committed. Of the same news it tells once. */
  look(): Promise<Looked> {
    return this.#alone(async () => {
      await this.#read();
      if (!this.isOurs || this.#isStopped) return { kind: 'over', reason: this.#reason() };
      const { asOf } = this.#fold.state;
      if (asOf === this.#told || asOf === this.#hinted) return { kind: 'nothing' };
      this.#hinted = asOf;
      this.#hints += 1;
      return { kind: 'news', history: await this.history() };
    });
  }

  /** Ends the run, or begins its rollback, once its deadline has passed. */
  passDeadline(): Promise<void> {
    return this.#alone(async () => {
      while (this.#isPastDeadline && !this.#isStopped) if (!(await this.#putDeadline())) return;
    });
  }

  get #isPastDeadline(): boolean {
    const { head } = this.#fold;
    return this.isOurs && this.ending === undefined && this.#decider.deps.clock.now() >= head.deadlineAt;
  }

  /** @returns false where nothing was left to decide */
  async #putDeadline(): Promise<boolean> {
    return (await this.#putAlone({ kind: 'deadline-passed' })) !== 'nothing';
  }

  /** Puts on the record how the drive ended, where it ended otherwise than by a turn. @throws what turns had trouble with */
  close(ending: (() => DriveEnding) | undefined): Promise<void> {
    return this.#alone(async () => {
      this.#tellTrouble();
      // What others commit in between changes nothing of it.
      while (ending !== undefined && this.isOurs) if ((await this.#putAlone(ending())) !== 'lost') break;
      this.#tellTrouble();
    });
  }

  /** One that fits no commit ends the run. */
  async #putAlone(fact: DriveEnding | OfRun): Promise<'won' | 'lost' | 'nothing'> {
    const put = await this.#put(fact);
    if (put.kind === 'too_large') {
      invariant(fact.kind !== 'commit-too-large', `what ends a run fits no commit: ${put.failure.message}`);
      return this.#putAlone({ kind: 'commit-too-large', failure: put.failure });
    }
    if (put.kind === 'won') await this.#carryOut(put.commit);
    return put.kind;
  }

  #tellTrouble(): void {
    if (this.#troubles.length > 0) throw this.#troubles[0];
  }

  async #turn(turn: Turn): Promise<TurnAnswer> {
    const { state } = this.#fold;
    if (turn.heard === this.#hints && this.#hinted > this.#told) this.#told = this.#hinted;
    const wasUndoing = this.ending !== undefined;
    let [left, most] = [turn, this.#decider.deps.settings.bytesInPart ?? mostInPart];
    for (;;) {
      if (!this.isOurs || this.#isStopped) return { kind: 'stop' };
      if (this.#isPastDeadline && (await this.#putDeadline())) continue;
      if (state.asOf !== this.#told) {
        const history = await this.history();
        this.#told = state.asOf;
        return { kind: 'overtaken', history };
      }
      const { part, rest } = firstPart(left, most);
      const put = await this.#put({ kind: 'turn-ended', ...this.#span(), turn: part });
      if (put.kind === 'lost') continue;
      if (put.kind === 'too_large') {
        const half = halfOf(part);
        if (half === undefined) await this.#putAlone({ kind: 'commit-too-large', failure: put.failure });
        else most = half;
        continue;
      }
      if (put.kind === 'won') {
        this.#told = put.commit.number;
        await this.#carryOut(put.commit);
      }
      // What is left of a turn that ends the run, or begins its rollback, is of no use any more.
      if (rest !== undefined && this.isOurs && (this.ending !== undefined) === wasUndoing) {
        left = rest;
        continue;
      }
      const run = isTerminal(state.progress) ? 'ended' : state.code?.ending === undefined ? 'open' : 'rolling_back';
      invariant(this.#told !== 0, 'a run is driven after its first commit');
      return { kind: 'committed', commit: this.#told, run };
    }
  }

  #span() {
    return { node: this.node, attempt: this.attempt, startedAt: this.startedAt, endedAt: this.#decider.deps.clock.now() };
  }

  /** Decides on the fold as it is, and tries the next slot, once. */
  async #put(fact: DriveFact | OfRun): Promise<Put> {
    const { deps, by } = this.#decider;
    const { head, state } = this.#fold;
    const decided = decideCode(state, [fact], codeTools(deps.clock.now(), head));
    if (decided.length === 0) return { kind: 'nothing' };
    invariant(state.asOf !== 0, 'a run without its first commit cannot go on');
    const { address: run } = head;
    const number = nextCommitNo(state.asOf);
    const events = await spillEvents(deps, head, decided).catch((error: unknown) => {
      if (error instanceof CommitTooLarge) return error;
      throw error;
    });
    if (events instanceof CommitTooLarge) return { kind: 'too_large', failure: events.failure };
    const commit: Commit = {
      number,
      firstEventId: state.nextEventId,
      events,
      at: deps.clock.now(),
      by,
      nonce: deps.ids.nonce(),
    };
    this.#own.add(commit.nonce);
    if (isWon(await untilDefinite(deps, () => deps.log.put(run, commit, head.expiresAt)), commit)) {
      applyCommit(state, commit);
      return { kind: 'won', commit };
    }
    const read = await this.#read();
    invariant(read > 0, `slot ${number} of ${run.runId} is taken, and a strong read does not show by what`);
    return { kind: 'lost' };
  }

  async #read(): Promise<number> {
    const { state } = this.#fold;
    return readTail(this.#decider.deps, this.#fold, (commit) => {
      const foreign = this.#own.has(commit.nonce) ? 'nothing' : judgeForeign(state, commit, this.#open);
      if (foreign === 'takes_over') this.#isTakenOver = true;
      if (foreign === 'nothing' && state.asOf === this.#told) this.#told = commit.number;
    });
  }

  /** What cannot be sent now is sent by a redelivery of the drive's own message; meanwhile the code goes on. */
  async #carryOut(commit: Commit): Promise<void> {
    const { deps } = this.#decider;
    measureCommit(deps, this.#fold, commit);
    try {
      await carryOut(deps, this.#fold, commit);
      await this.#announceWaits(commit);
      await saveSnapshot(deps, this.#fold);
    } catch (trouble) {
      if (!(trouble instanceof Unavailable)) throw trouble;
      this.#troubles.push(trouble);
    }
  }

  /** Where signals are matched is not code's to write: the worker notes the waits there, and looks whether a signal is there. */
  async #announceWaits({ events }: Commit): Promise<void> {
    if (!events.some(({ type }) => type === 'SIGNAL_AWAITED')) return;
    await this.#decider.deps.jobs.sendLater({ kind: 'waits', ...ofRun(this.#fold.head) }, durationMs(0));
  }

  #reason(): string {
    const { progress } = this.#fold.state;
    if (progress.status === 'cancelled') return progress.reason ?? 'the run was cancelled';
    return isTerminal(progress) ? `the run has ended as ${progress.status}` : 'the run is driven by somebody else, or later';
  }

  #alone<Answer>(act: () => Promise<Answer>): Promise<Answer> {
    const mine = this.#last.then(act, act);
    this.#last = mine;
    return mine;
  }
}
