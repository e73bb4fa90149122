/** Executes the code beyond its history: commits each command batch, then starts the steps of the batch. */
import type { History, CommandBatch } from '../engine/durable/command-batch.ts';
import { unreachable } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, after, earliest, seconds } from '../engine/time.ts';
import { type PendingStep, canShareCommit } from './step-request.ts';
import {
  type ExecutionContext,
  type ExitReason,
  restartWith,
  isHandingOff,
  isAborting,
  taskFinished,
  aborted,
  commitBatch,
} from './execution-context.ts';
import type { WorkflowInvocation } from './workflow-invocation.ts';
import type { Replay } from './replay.ts';
import { type EndEntry, resultOf } from './step-end.ts';
import type { StepsInProgress, StepInProgress } from './steps-in-progress.ts';
import { CommandBatchDraft } from './command-batch-draft.ts';

/** The task waits for a retry that is due this soon. For a later one, the run suspends. */
export const maxInlineRetryWait = seconds(1);

/** What follows a command batch. */
type NextAction =
  | Pick<CommandBatch, 'next' | 'wakeAt'>
  /** nothing to commit until an event arrives or this time passes */
  | { readonly next: 'wait'; readonly until?: Instant };

export class LiveExecution {
  readonly #context: ExecutionContext;
  readonly #invocation: WorkflowInvocation;
  readonly #steps: StepsInProgress;
  readonly #replay: Replay;
  readonly #history: History<JsonValue>;
  /** attempts that an earlier workflow task started: recorded as lost in the first batch */
  #lost: readonly StepInProgress[];
  /** committed results that the next workflow task delivers to the code */
  readonly #undelivered: EndEntry[] = [];
  #lastProgressAt: Instant;

  constructor(
    context: ExecutionContext,
    parts: { invocation: WorkflowInvocation; steps: StepsInProgress; replay: Replay; history: History<JsonValue> },
  ) {
    this.#context = context;
    this.#invocation = parts.invocation;
    this.#steps = parts.steps;
    this.#replay = parts.replay;
    this.#history = parts.history;
    this.#lost = parts.steps.all.filter(({ key, retryAt }) => retryAt === undefined && !context.stepFunctions.has(key));
    this.#lastProgressAt = context.clock.now();
  }

  /** @returns `roll_back` when the code has ended and its steps must be rolled back */
  async run(): Promise<ExitReason | { readonly kind: 'roll_back' }> {
    const { wakeUp, clock, interrupts, stepFunctions } = this.#context;
    let held: CommandBatchDraft | undefined;
    for (;;) {
      const exitReason = isAborting(interrupts) ? aborted : await this.#applyNewHistory();
      if (exitReason !== undefined) {
        stepFunctions.putBack(held?.takenEnds ?? []);
        return exitReason;
      }
      this.#startDueRetries();
      const isFinalBatch = isHandingOff(this.#context);
      const draft = held ?? new CommandBatchDraft(this.#context, this.#invocation, this.#steps);
      held = undefined;
      if (!isFinalBatch) {
        draft.addLostAttempts(this.#lost);
        this.#lost = [];
        draft.addRequestedSteps();
      }
      await draft.addEnds(isFinalBatch);
      const nondeterminism = this.#replay.nondeterminism();
      if (nondeterminism !== undefined) return { kind: 'end', end: nondeterminism };
      const action = this.#nextAction(draft, isFinalBatch);
      if (action.next === 'wait' && draft.entries.length === 0) {
        this.#startSteps(draft.stepsToStart);
        await wakeUp.wait(clock, action.until);
        continue;
      }
      if (action.next === 'wait' && !isFinalBatch && this.#canHold(draft)) {
        this.#startSteps(draft.takeStepsToStart());
        held = draft;
        await wakeUp.wait(clock, earliest([draft.canWaitUntil, action.until].filter((moment) => moment !== undefined)));
        continue;
      }
      const batch = action.next === 'wait' ? ({ next: 'running' } as const) : action;
      // A batch that loses the commit is discarded and its steps start again. Only idempotent steps may start before the commit.
      if (draft.canOverlapCommit && this.#context.task.shouldCommitBeforeSteps !== true)
        this.#startSteps(draft.stepsToStart.filter(({ functionStep }) => functionStep?.isIdempotent === true));
      const result = await commitBatch(this.#context, { entries: draft.entries, ...batch });
      switch (result.kind) {
        case 'restart':
        case 'end':
        case 'aborted':
          stepFunctions.putBack(draft.takenEnds);
          return result;
        case 'committed':
          break;
        default:
          unreachable(result);
      }
      this.#recordCommit(draft);
      if (result.run === 'ended') return taskFinished;
      if (result.run === 'rolling_back') return this.#deliverBeforeRollback();
      if (batch.next !== 'running') return taskFinished;
      this.#startSteps(draft.stepsToStart);
    }
  }

  /**
   * Whether the batch may wait for results of idempotent steps: only such steps run, and nothing else of the run is open, so that no
   * other writer adds to the history before it. After a crash each step is committed before it starts.
   */
  #canHold({ canWaitUntil }: CommandBatchDraft): boolean {
    const { clock, stepFunctions, task } = this.#context;
    if (canWaitUntil === undefined || clock.now() >= canWaitUntil || task.shouldCommitBeforeSteps === true) return false;
    if (this.#invocation.isWaiting || this.#steps.awaitingRetry.length > 0) return false;
    const running = stepFunctions.running.map(({ key }) => this.#invocation.stepOf(key));
    return running.every((step) => step !== undefined && canShareCommit(step));
  }

  /** Delivers entries that other writers have committed since this task's last commit, without a new replay where possible. */
  async #applyNewHistory(): Promise<ExitReason | undefined> {
    const { interrupts } = this.#context;
    const { history } = interrupts;
    if (history === undefined) return undefined;
    if (history.attempt !== this.#history.attempt || history.runOutcome !== undefined) return restartWith(interrupts, history);
    const newEntries = history.entries.slice(this.#replay.appliedEntries);
    // Only waits end without a workflow task. Any other new entry means that another task has executed the run.
    const areAllWaits = newEntries.every((entry) => entry.kind === 'settled' && this.#steps.of(entry.key) === undefined);
    if (!areAllWaits) return restartWith(interrupts, history);
    delete interrupts.history;
    this.#steps.updateRetryTimes(history.open);
    // Results are delivered in the order of the log.
    if (this.#undelivered.length > 0) this.#replay.countOwnEntries(newEntries.length);
    const end = this.#undelivered.length > 0 ? undefined : await this.#replay.run(newEntries);
    if (newEntries.length > 0) this.#lastProgressAt = this.#context.clock.now();
    return end === undefined ? undefined : { kind: 'end', end };
  }

  #nextAction(draft: CommandBatchDraft, isFinalBatch: boolean): NextAction {
    const { stepFunctions, clock, task, stallTimeoutMs } = this.#context;
    // If committed results were not delivered, the next workflow task delivers them and then records how the code ends.
    const isFullyDelivered = draft.isOverLimit || (this.#undelivered.length === 0 && draft.undelivered.length === 0);
    const outcome = isFullyDelivered ? draft.addOutcome(this.#history) : undefined;
    if (outcome?.kind === 'returned') return { next: 'suspended' };
    // Steps may have to be rolled back; this task does that.
    if (outcome !== undefined)
      return outcome.nextAttempt === undefined ? { next: 'running' } : { next: 'suspended', wakeAt: outcome.nextAttempt.retryAt };
    const retries = draft.isCodeFinished ? [] : this.#pendingRetries();
    if (stepFunctions.isBusy || draft.stepsToStart.length > 0) return { next: 'wait', ...until(isFinalBatch ? [] : retries) };
    if (isFinalBatch) return { next: 'yielded' };
    // The code requested a step after the batch was built. `wakeUp` is notified already.
    if (this.#invocation.hasRequestedSteps) return { next: 'wait' };
    const now = clock.now();
    const due = earliest(retries);
    if (due !== undefined)
      return due <= after(now, maxInlineRetryWait)
        ? { next: 'wait', ...until([due, task.handOffAt]) }
        : { next: 'suspended', wakeAt: due };
    if (this.#invocation.isWaiting) return { next: 'suspended' };
    // The code awaits something that is not a step. Only the code itself can end that.
    const stallDeadline = after(this.#lastProgressAt, stallTimeoutMs);
    return now >= stallDeadline ? { next: 'suspended' } : { next: 'wait', ...until([stallDeadline, task.handOffAt]) };
  }

  #pendingRetries(): readonly Instant[] {
    const { stepFunctions } = this.#context;
    return this.#steps.awaitingRetry.flatMap(({ key, retryAt }) => (stepFunctions.has(key) ? [] : [retryAt]));
  }

  #recordCommit(draft: CommandBatchDraft): void {
    this.#replay.countOwnEntries(draft.historyEntryCount);
    this.#lastProgressAt = this.#context.clock.now();
    this.#undelivered.push(...draft.undelivered);
  }

  /** Steps that completed after the hand-off time must be rolled back too. */
  #deliverBeforeRollback(): { readonly kind: 'roll_back' } {
    for (const entry of this.#undelivered) {
      const result = resultOf(entry);
      if (result !== undefined) this.#invocation.settle(entry.key, result);
    }
    return { kind: 'roll_back' };
  }

  #startDueRetries(): void {
    const { stepFunctions, clock } = this.#context;
    if (isHandingOff(this.#context) || this.#invocation.end !== undefined) return;
    const now = clock.now();
    for (const { key, retryAt } of this.#steps.awaitingRetry) {
      const pending = retryAt > now || stepFunctions.has(key) ? undefined : this.#invocation.stepOf(key);
      if (pending !== undefined) this.#startSteps([pending]);
    }
  }

  #startSteps(pendingSteps: readonly PendingStep[]): void {
    for (const pending of pendingSteps) {
      const step = this.#steps.of(pending.key);
      if (step !== undefined && !this.#context.stepFunctions.has(pending.key)) this.#startStep(pending, step);
    }
  }

  #startStep({ key, functionStep, command }: PendingStep, { attempt }: StepInProgress): void {
    const { stepFunctions, host } = this.#context;
    if (functionStep !== undefined)
      return stepFunctions.start({ key, attempt }, (signal) => functionStep.stepFunction({ signal, attempt, key }));
    if (command.kind !== 'signal-send') return;
    stepFunctions.perform({ key, attempt }, async () => {
      const result = await host.perform(command);
      return result.status === 'completed'
        ? { kind: 'completed', output: result.output }
        : { kind: 'failed', failure: result.failure, isNonRetryable: true };
    });
  }
}

const until = (moments: readonly Instant[]): { readonly until?: Instant } => {
  const first = earliest(moments);
  return first === undefined ? {} : { until: first };
};
