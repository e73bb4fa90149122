/** The code beyond its history: each turn of it is committed, and what it asked for begins then. */
import type { History, CommandBatch } from '../engine/durable/command-batch.ts';
import { unreachable } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, after, earliest, seconds } from '../engine/time.ts';
import type { PendingStep } from './step-request.ts';
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

/** A try that is due this soon is waited for; else the run rests. */
const maxInlineRetryWait = seconds(1);

/** What a turn leaves to be done. */
type NextAction =
  | Pick<CommandBatch, 'next' | 'wakeAt'>
  /** nothing is to be committed until something happens, or it is this late */
  | { readonly next: 'wait'; readonly until?: Instant };

export class LiveExecution {
  readonly #context: ExecutionContext;
  readonly #invocation: WorkflowInvocation;
  readonly #steps: StepsInProgress;
  readonly #replay: Replay;
  readonly #history: History<JsonValue>;
  /** attempts that nobody here has begun: they are spoken of once */
  #lost: readonly StepInProgress[];
  /** results that are on record, and that the next drive gives to the code */
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

  /** @returns `undo`: the code is over, and what it did is to be undone */
  async run(): Promise<ExitReason | { readonly kind: 'roll_back' }> {
    const { wakeUp, clock, interrupts, stepFunctions } = this.#context;
    for (;;) {
      if (isAborting(interrupts)) return aborted;
      const exitReason = await this.#applyNewHistory();
      if (exitReason !== undefined) return exitReason;
      this.#startDueRetries();
      const isFinalBatch = isHandingOff(this.#context);
      const draft = new CommandBatchDraft(this.#context, this.#invocation, this.#steps);
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
      const batch = action.next === 'wait' ? ({ next: 'running' } as const) : action;
      // A turn that is overtaken is thrown away, and what it asked for is begun again: only of what may be done twice.
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

  /** What others have committed while nothing of this drive's was: the code hears of it where it stands. */
  async #applyNewHistory(): Promise<ExitReason | undefined> {
    const { interrupts } = this.#context;
    const { history } = interrupts;
    if (history === undefined) return undefined;
    if (history.attempt !== this.#history.attempt || history.runOutcome !== undefined) return restartWith(interrupts, history);
    const newEntries = history.entries.slice(this.#replay.appliedEntries);
    // Only waits end by themselves: for anything else somebody has driven the run too.
    const areAllWaits = newEntries.every((entry) => entry.kind === 'settled' && this.#steps.of(entry.key) === undefined);
    if (!areAllWaits) return restartWith(interrupts, history);
    delete interrupts.history;
    // Nothing is told before what came first.
    if (this.#undelivered.length > 0) this.#replay.countOwnEntries(newEntries.length);
    const end = this.#undelivered.length > 0 ? undefined : await this.#replay.run(newEntries);
    if (newEntries.length > 0) this.#lastProgressAt = this.#context.clock.now();
    return end === undefined ? undefined : { kind: 'end', end };
  }

  #nextAction(draft: CommandBatchDraft, isFinalBatch: boolean): NextAction {
    const { stepFunctions, clock, task, stallTimeoutMs } = this.#context;
    // Where the code has ended without results that are on record before its end, the next drive sees how it ends with them.
    const isFullyDelivered = draft.isOverLimit || (this.#undelivered.length === 0 && draft.undelivered.length === 0);
    const outcome = isFullyDelivered ? draft.addOutcome(this.#history) : undefined;
    if (outcome?.kind === 'returned') return { next: 'suspended' };
    // What the code did may have to be undone, and then this drive does it.
    if (outcome !== undefined)
      return outcome.nextAttempt === undefined ? { next: 'running' } : { next: 'suspended', wakeAt: outcome.nextAttempt.retryAt };
    const retries = draft.isCodeFinished ? [] : this.#pendingRetries();
    if (stepFunctions.isBusy || draft.stepsToStart.length > 0) return { next: 'wait', ...until(isFinalBatch ? [] : retries) };
    if (isFinalBatch) return { next: 'yielded' };
    // It came after the turn was made: the bell has rung.
    if (this.#invocation.hasRequestedSteps) return { next: 'wait' };
    const now = clock.now();
    const due = earliest(retries);
    if (due !== undefined)
      return due <= after(now, maxInlineRetryWait)
        ? { next: 'wait', ...until([due, task.handOffAt]) }
        : { next: 'suspended', wakeAt: due };
    if (this.#invocation.isWaiting) return { next: 'suspended' };
    // The code is at something that is no step: nobody can end that but itself.
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

  /** What was done after the time to hand on is undone too. */
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
