/**
 * The run log of a code run, as one workflow task writes it. A command batch is committed under the very next commit number or not at
 * all. After a lost put it must not be decided again, because the code made the batch without knowledge of the new commits. (All other
 * writers use `append.ts`.) A batch too large for one commit is split into parts, and the same rule holds for each part.
 */
import { deadlineTermsOf } from '../../../engine/deadline.ts';
import { decideCode } from '../../../engine/durable/decide.ts';
import type { CodeFact } from '../../../engine/durable/facts.ts';
import { splitFirstPart, halfWeightOf, maxPartBytes } from '../../../engine/durable/split-command-batch.ts';
import type { History, CommandBatch, CommandBatchResult } from '../../../engine/durable/command-batch.ts';
import { type CommitNo, type Nonce, type NodeRef, nodeKey } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../../../engine/json.ts';
import { type Commit, nextCommitNo } from '../../../engine/log/commit.ts';
import type { RunOutcome, Failure } from '../../../engine/log/events.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../../../engine/log/node-state.ts';
import type { Instant } from '../../../engine/time.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { isWon, putUntilOutcomeKnown } from '../../run-log/append.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { codeTools } from './decide-code-run.ts';
import type { Decider } from '../../decider.ts';
import { classifyForeignCommit, hasFrequentWriter } from './classify-foreign-commit.ts';
import { loadHistory } from './load-history.ts';
import { measureCommit } from '../../commit/append-facts.ts';
import { CommitTooLarge, offloadEvents } from '../../run-log/payloads.ts';
import { type RunFold, advanceFold, readTail } from '../../run-log/read-run-fold.ts';
import { saveSnapshot } from '../../run-log/snapshots.ts';

/** Facts that the workflow task itself reports. */
type WorkflowTaskFact = Extract<CodeFact, { kind: 'command-batch' | 'workflow-task-crashed' | 'workflow-task-deferred' }>;
export type WorkflowTaskEnding = Exclude<WorkflowTaskFact, { kind: 'command-batch' }>;
type RunFact = Extract<CodeFact, { kind: 'deadline-passed' | 'commit-too-large' }>;

export type CheckResult =
  | { readonly kind: 'nothing' }
  /** the code must receive the new history */
  | { readonly kind: 'interrupts'; readonly history: History<JsonValue> }
  /** the run has ended, or another workflow task has taken over */
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
  /** every commit up to this one is known to the code, or does not concern it */
  #seenByCode: CommitNo | 0;
  #notifiedUpTo: CommitNo | 0 = 0;
  /** number of histories sent to the code; a command batch names how many of them the code had received */
  #notifications = 0;
  #isTakenOver = false;
  /** after an error: nothing more is committed, and the queue redelivers the task's message */
  #isStopped = false;
  readonly #errors: unknown[] = [];
  /** operations run one at a time, because each advances the fold */
  #lastOperation: Promise<unknown> = Promise.resolve();
  /** Called when an error stopped a command batch, so that the watcher ends the task. */
  onStop: () => void = () => {};

  /** @param fold fresh; from now on only this workflow task uses it */
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

  /** Whether the run is open and this workflow task may commit to it. */
  get ownsRun(): boolean {
    const node = this.#fold.state.nodes.get(nodeKey(this.#open));
    return !this.#isTakenOver && node !== undefined && isOpen(node) && node.attempt === this.#open.attempt;
  }

  /** The run's outcome once its rollback has begun. */
  get ending(): RunOutcome | undefined {
    return this.#fold.state.code?.runOutcome;
  }

  history(): Promise<History<JsonValue>> {
    return loadHistory(this.#decider.deps, this.#fold, this.#loaded);
  }

  /** Never rejects: an error stops the task, and `close` throws it. */
  commitBatch(batch: CommandBatch): Promise<CommandBatchResult> {
    return this.#serialized(async () => {
      try {
        return await this.#commitBatch(batch);
      } catch (error) {
        this.#errors.push(error);
        this.#isStopped = true;
        this.onStop();
        return { kind: 'stop' };
      }
    });
  }

  /** Reads the commits of other writers. It returns the same change once. */
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

  /** @returns false if there was nothing to decide */
  async #putDeadline(): Promise<boolean> {
    return (await this.#putFact({ kind: 'deadline-passed' })) !== 'nothing';
  }

  /** Commits how the task ended, if it ended without a last command batch. @throws the first error of a command batch */
  close(ending: (() => WorkflowTaskEnding) | undefined): Promise<void> {
    return this.#serialized(async () => {
      this.#throwFirstError();
      // Commits of other writers in between do not change the ending, so it is decided again.
      while (ending !== undefined && this.ownsRun) if ((await this.#putFact(ending())) !== 'lost') break;
      this.#throwFirstError();
    });
  }

  /** Commits one fact. A fact too large for a commit fails the run. */
  async #putFact(fact: WorkflowTaskEnding | RunFact): Promise<'won' | 'lost' | 'nothing'> {
    const put = await this.#put(fact);
    if (put.kind === 'too_large') {
      invariant(
        fact.kind !== 'commit-too-large',
        `the event that fails the run is too large for a commit: ${put.failure.message}`,
      );
      return this.#putFact({ kind: 'commit-too-large', failure: put.failure });
    }
    if (put.kind === 'won') await this.#dispatchEffects(put.commit);
    return put.kind;
  }

  #throwFirstError(): void {
    if (this.#errors.length > 0) throw this.#errors[0];
  }

  async #commitBatch(batch: CommandBatch): Promise<CommandBatchResult> {
    const { state } = this.#fold;
    if (batch.historiesReceived === this.#notifications && this.#notifiedUpTo > this.#seenByCode)
      this.#seenByCode = this.#notifiedUpTo;
    const wasRollingBack = this.ending !== undefined;
    let [remaining, maxBytes] = [batch, this.#decider.deps.settings.maxPartBytes ?? maxPartBytes];
    for (;;) {
      if (!this.ownsRun || this.#isStopped) return { kind: 'stop' };
      if (this.#isPastDeadline && (await this.#putDeadline())) continue;
      if (hasFrequentWriter(state)) await this.#read();
      if (!this.ownsRun) return { kind: 'stop' };
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
      // After a part that ends the run or begins its rollback, the remaining parts are dropped.
      if (rest !== undefined && this.ownsRun && (this.ending !== undefined) === wasRollingBack) {
        remaining = rest;
        continue;
      }
      const run = isTerminal(state.progress) ? 'ended' : state.code?.runOutcome === undefined ? 'open' : 'rolling_back';
      invariant(this.#seenByCode !== 0, 'a workflow task runs after the first commit of its run');
      return { kind: 'committed', commit: this.#seenByCode, run };
    }
  }

  #span() {
    return { node: this.node, attempt: this.attempt, startedAt: this.startedAt, endedAt: this.#decider.deps.clock.now() };
  }

  /** Decides on the current fold, and tries the next commit number once. */
  async #put(fact: WorkflowTaskFact | RunFact): Promise<PutOutcome> {
    const { deps, by } = this.#decider;
    const { head, state } = this.#fold;
    const decided = decideCode(state, [fact], codeTools(deps.clock.now(), head.address, deadlineTermsOf(head)));
    if (decided.length === 0) return { kind: 'nothing' };
    invariant(state.asOf !== 0, 'a workflow task needs a fold that contains the first commit of the run');
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
      advanceFold(this.#fold, commit);
      return { kind: 'won', commit };
    }
    const read = await this.#read();
    invariant(
      read > 0,
      `the store refused commit ${number} of ${run.runId} as existing, but a strongly consistent read does not return it`,
    );
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

  /** If the queue is unavailable, a redelivery of the task's message dispatches the effects. The code continues meanwhile. */
  async #dispatchEffects(commit: Commit): Promise<void> {
    const { deps } = this.#decider;
    measureCommit(deps, this.#fold, commit);
    try {
      await dispatchEffects(this.#decider, this.#fold, commit);
      await saveSnapshot(deps, this.#fold);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.#errors.push(error);
    }
  }

  #reason(): string {
    const { progress } = this.#fold.state;
    if (progress.status === 'cancelled') return progress.reason ?? 'the run was cancelled';
    return isTerminal(progress) ? `the run has ended as ${progress.status}` : 'another workflow task has taken over the run';
  }

  #serialized<Result>(act: () => Promise<Result>): Promise<Result> {
    const operation = this.#lastOperation.then(act, act);
    this.#lastOperation = operation;
    return operation;
  }
}
