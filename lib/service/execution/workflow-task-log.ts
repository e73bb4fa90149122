/**
 * The log of a code run as one drive of it writes it. A turn goes into the very next slot or did not happen: whoever loses a
 * put must not decide anew, because the code said what it said without knowing what came before it. (`append.ts` is for
 * everybody else.) One that is too large for a slot goes into several, and each of them is such a turn.
 */
import { decideCode } from '../../engine/durable/decide.ts';
import type { CodeFact } from '../../engine/durable/facts.ts';
import { splitFirstPart, halfWeightOf, maxPartBytes } from '../../engine/durable/split-command-batch.ts';
import type { History, CommandBatch, CommandBatchResult } from '../../engine/durable/command-batch.ts';
import { type CommitNo, type Nonce, type NodeRef, nodeKey } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../../engine/json.ts';
import { type Commit, nextCommitNo } from '../../engine/log/commit.ts';
import type { RunOutcome, Failure } from '../../engine/log/events.ts';
import { applyCommit, isTerminal } from '../../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../../engine/log/node-state.ts';
import { type Instant, durationMs } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { isWon, putUntilOutcomeKnown } from '../run-log/append.ts';
import { dispatchEffects } from '../commit/dispatch-effects.ts';
import { codeTools } from '../commit/decide-code-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import { classifyForeignCommit } from './classify-foreign-commit.ts';
import { originFields } from '../commit/job-messages.ts';
import { loadHistory } from '../run-log/load-history.ts';
import { measureCommit } from '../commit/measure-commit.ts';
import { CommitTooLarge, offloadEvents } from '../run-log/payloads.ts';
import { type RunFold, readTail } from '../run-log/read-run-fold.ts';
import { saveSnapshot } from '../run-log/snapshots.ts';

/** What a drive says of itself. */
type WorkflowTaskFact = Extract<CodeFact, { kind: 'command-batch' | 'workflow-task-crashed' | 'workflow-task-deferred' }>;
export type WorkflowTaskEnding = Exclude<WorkflowTaskFact, { kind: 'command-batch' }>;
type RunFact = Extract<CodeFact, { kind: 'deadline-passed' | 'commit-too-large' }>;

export type CheckResult =
  | { readonly kind: 'nothing' }
  /** the code is to hear of it */
  | { readonly kind: 'interrupts'; readonly history: History<JsonValue> }
  /** the run has ended, or is not in this drive's hands any more */
  | { readonly kind: 'ended'; readonly reason: string };

type PutOutcome =
  | { readonly kind: 'won'; readonly commit: Commit }
  | { readonly kind: 'lost' | 'nothing' }
  | { readonly kind: 'too_large'; readonly failure: Failure };

export class WorkflowTaskLog {
  readonly node: NodeRef;
  readonly startedAt: Instant;
  readonly #decider: Decider;
  readonly #fold: RunFold;
  readonly #open: OpenNode;
  readonly #ownNonces = new Set<Nonce>();
  readonly #loaded = new Map<PayloadRef, JsonValue>();
  /** up to here the code was told; behind it are only commits that it need not know of */
  #seenByCode: CommitNo | 0;
  #notifiedUpTo: CommitNo | 0 = 0;
  /** how often the drive was told of news: a turn says how often it had heard of some */
  #notifications = 0;
  #isTakenOver = false;
  /** with trouble: nothing more is committed, and the drive's message comes back */
  #isStopped = false;
  readonly #errors: unknown[] = [];
  /** one thing at a time: all of them move the fold */
  #lastOperation: Promise<unknown> = Promise.resolve();
  /** Is called where a turn was answered with `stop` for trouble: whoever watches is to see to the rest. */
  onStop: () => void = () => {};

  /** @param fold fresh; it is this drive's from now on */
  constructor(decider: Decider, fold: RunFold, open: OpenNode) {
    this.#decider = decider;
    this.#fold = fold;
    this.#open = open;
    this.#seenByCode = fold.state.asOf;
    this.node = { nodeId: open.nodeId, iteration: open.iteration };
    this.startedAt = decider.deps.clock.now();
  }

  get attempt(): OpenNode['attempt'] {
    return this.#open.attempt;
  }

  /** The run is open, and this drive's to drive. */
  get ownsRun(): boolean {
    const node = this.#fold.state.nodes.get(nodeKey(this.#open));
    return !this.#isTakenOver && node !== undefined && isOpen(node) && node.attempt === this.#open.attempt;
  }

  /** What is to be undone, where the code is over. */
  get ending(): RunOutcome | undefined {
    return this.#fold.state.code?.runOutcome;
  }

  history(): Promise<History<JsonValue>> {
    return loadHistory(this.#decider.deps, this.#fold, this.#loaded);
  }

  /** Never rejects: with trouble it stops, and `close` throws that. */
  turn(turn: CommandBatch): Promise<CommandBatchResult> {
    return this.#serialized(async () => {
      try {
        return await this.#commitBatch(turn);
      } catch (error) {
        this.#errors.push(error);
        this.#isStopped = true;
        this.onStop();
        return { kind: 'stop' };
      }
    });
  }

  /** Looks what others have committed. Of the same news it tells once. */
  check(): Promise<CheckResult> {
    return this.#serialized(async () => {
      await this.#read();
      if (!this.ownsRun || this.#isStopped) return { kind: 'ended', reason: this.#reason() };
      const { asOf } = this.#fold.state;
      if (asOf === this.#seenByCode || asOf === this.#notifiedUpTo) return { kind: 'nothing' };
      this.#notifiedUpTo = asOf;
      this.#notifications += 1;
      return { kind: 'interrupts', history: await this.history() };
    });
  }

  /** Ends the run, or begins its rollback, once its deadline has passed. */
  enforceDeadline(): Promise<void> {
    return this.#serialized(async () => {
      while (this.#isPastDeadline && !this.#isStopped) if (!(await this.#putDeadline())) return;
    });
  }

  get #isPastDeadline(): boolean {
    const { head } = this.#fold;
    return this.ownsRun && this.ending === undefined && this.#decider.deps.clock.now() >= head.deadlineAt;
  }

  /** @returns false where nothing was left to decide */
  async #putDeadline(): Promise<boolean> {
    return (await this.#putFact({ kind: 'deadline-passed' })) !== 'nothing';
  }

  /** Puts on the record how the drive ended, where it ended otherwise than by a turn. @throws what turns had trouble with */
  close(ending: (() => WorkflowTaskEnding) | undefined): Promise<void> {
    return this.#serialized(async () => {
      this.#throwFirstError();
      // What others commit in between changes nothing of it.
      while (ending !== undefined && this.ownsRun) if ((await this.#putFact(ending())) !== 'lost') break;
      this.#throwFirstError();
    });
  }

  /** One that fits no commit ends the run. */
  async #putFact(fact: WorkflowTaskEnding | RunFact): Promise<'won' | 'lost' | 'nothing'> {
    const put = await this.#put(fact);
    if (put.kind === 'too_large') {
      invariant(fact.kind !== 'commit-too-large', `what ends a run fits no commit: ${put.failure.message}`);
      return this.#putFact({ kind: 'commit-too-large', failure: put.failure });
    }
    if (put.kind === 'won') await this.#dispatchEffects(put.commit);
    return put.kind;
  }

  #throwFirstError(): void {
    if (this.#errors.length > 0) throw this.#errors[0];
  }

  async #commitBatch(turn: CommandBatch): Promise<CommandBatchResult> {
    const { state } = this.#fold;
    if (turn.historiesReceived === this.#notifications && this.#notifiedUpTo > this.#seenByCode)
      this.#seenByCode = this.#notifiedUpTo;
    const wasRollingBack = this.ending !== undefined;
    let [remaining, maxBytes] = [turn, this.#decider.deps.settings.maxPartBytes ?? maxPartBytes];
    for (;;) {
      if (!this.ownsRun || this.#isStopped) return { kind: 'stop' };
      if (this.#isPastDeadline && (await this.#putDeadline())) continue;
      if (state.asOf !== this.#seenByCode) {
        const history = await this.history();
        this.#seenByCode = state.asOf;
        return { kind: 'overtaken', history };
      }
      const { part, rest } = splitFirstPart(remaining, maxBytes);
      const put = await this.#put({ kind: 'command-batch', ...this.#span(), batch: part });
      if (put.kind === 'lost') continue;
      if (put.kind === 'too_large') {
        const half = halfWeightOf(part);
        if (half === undefined) await this.#putFact({ kind: 'commit-too-large', failure: put.failure });
        else maxBytes = half;
        continue;
      }
      if (put.kind === 'won') {
        this.#seenByCode = put.commit.number;
        await this.#dispatchEffects(put.commit);
      }
      // What is left of a turn that ends the run, or begins its rollback, is of no use any more.
      if (rest !== undefined && this.ownsRun && (this.ending !== undefined) === wasRollingBack) {
        remaining = rest;
        continue;
      }
      const run = isTerminal(state.progress) ? 'ended' : state.code?.runOutcome === undefined ? 'open' : 'rolling_back';
      invariant(this.#seenByCode !== 0, 'a run is driven after its first commit');
      return { kind: 'committed', commit: this.#seenByCode, run };
    }
  }

  #span() {
    return { node: this.node, attempt: this.attempt, startedAt: this.startedAt, endedAt: this.#decider.deps.clock.now() };
  }

  /** Decides on the fold as it is, and tries the next slot, once. */
  async #put(fact: WorkflowTaskFact | RunFact): Promise<PutOutcome> {
    const { deps, by } = this.#decider;
    const { head, state } = this.#fold;
    const decided = decideCode(state, [fact], codeTools(deps.clock.now(), head));
    if (decided.length === 0) return { kind: 'nothing' };
    invariant(state.asOf !== 0, 'a run without its first commit cannot go on');
    const { address: run } = head;
    const number = nextCommitNo(state.asOf);
    const events = await offloadEvents(deps, head, decided).catch((error: unknown) => {
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
    this.#ownNonces.add(commit.nonce);
    if (isWon(await putUntilOutcomeKnown(deps, () => deps.log.put(run, commit, head.expiresAt)), commit)) {
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
      const foreign = this.#ownNonces.has(commit.nonce) ? 'nothing' : classifyForeignCommit(state, commit, this.#open);
      if (foreign === 'takes_over') this.#isTakenOver = true;
      if (foreign === 'nothing' && state.asOf === this.#seenByCode) this.#seenByCode = commit.number;
    });
  }

  /** What cannot be sent now is sent by a redelivery of the drive's own message; meanwhile the code goes on. */
  async #dispatchEffects(commit: Commit): Promise<void> {
    const { deps } = this.#decider;
    measureCommit(deps, this.#fold, commit);
    try {
      await dispatchEffects(deps, this.#fold, commit);
      await this.#announceWaits(commit);
      await saveSnapshot(deps, this.#fold);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.#errors.push(error);
    }
  }

  /** Where signals are matched is not code's to write: the worker notes the waits there, and looks whether a signal is there. */
  async #announceWaits({ events }: Commit): Promise<void> {
    if (!events.some(({ type }) => type === 'SIGNAL_AWAITED')) return;
    await this.#decider.deps.jobs.sendDelayed({ kind: 'waits', ...originFields(this.#fold.head) }, durationMs(0));
  }

  #reason(): string {
    const { progress } = this.#fold.state;
    if (progress.status === 'cancelled') return progress.reason ?? 'the run was cancelled';
    return isTerminal(progress) ? `the run has ended as ${progress.status}` : 'the run is driven by somebody else, or later';
  }

  #serialized<Result>(act: () => Promise<Result>): Promise<Result> {
    const operation = this.#lastOperation.then(act, act);
    this.#lastOperation = operation;
    return operation;
  }
}
