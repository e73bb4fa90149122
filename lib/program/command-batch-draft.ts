/** Builds one command batch: ended steps, new commands, and the steps to start after the commit. */
import { workflowRetryDefaults, decideRetry, isFinalFailure } from '../engine/durable/step.ts';
import type { History, CommandBatchEntry } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';
import { maxPackAge, maxPackLength } from '../engine/log/commit.ts';
import type { Failure } from '../engine/log/events.ts';
import { type Instant, after } from '../engine/time.ts';
import { type PendingStep, canShareCommit, isWait } from './step-request.ts';
import type { StepFunctionEnd } from './step-functions.ts';
import { failureOf } from './failures.ts';
import type { ExecutionContext } from './execution-context.ts';
import type { WorkflowInvocation } from './workflow-invocation.ts';
import { type EndEntry, stepEndEntry, lostEntry, resultOf } from './step-end.ts';
import type { StepsInProgress, StepInProgress } from './steps-in-progress.ts';
import { storedValue } from './stored-value.ts';

type Outcome = Extract<CommandBatchEntry, { kind: 'returned' | 'threw' }>;

export class CommandBatchDraft {
  readonly entries: CommandBatchEntry[] = [];
  /** returned to the queue if the commit fails */
  readonly takenEnds: StepFunctionEnd[] = [];
  /** start after the commit */
  readonly stepsToStart: PendingStep[] = [];
  /** results that this workflow task commits but does not deliver to the code */
  readonly undelivered: EndEntry[] = [];
  readonly #context: ExecutionContext;
  readonly #invocation: WorkflowInvocation;
  readonly #steps: StepsInProgress;
  #isOverLimit = false;
  /** A result of a step without `idempotent` must be committed before the next step starts. */
  #hasNonIdempotentEnd = false;
  /** Something waits for an entry, or an attempt that it records may have had an effect. */
  #hasUrgentEntry = false;
  /** when its first result was taken */
  #openedAt: Instant | undefined;
  /** of the results as JSON */
  #length = 0;

  constructor(context: ExecutionContext, invocation: WorkflowInvocation, steps: StepsInProgress) {
    this.#context = context;
    this.#invocation = invocation;
    this.#steps = steps;
  }

  /** Entries that a replay will see. */
  get historyEntryCount(): number {
    return this.entries.filter(({ kind }) => kind === 'scheduled' || kind === 'completed' || kind === 'failed').length;
  }

  /** If the batch were lost, only idempotent steps would run again. The next steps may therefore start before the commit. */
  get canOverlapCommit(): boolean {
    return this.takenEnds.length > 0 && !this.#hasNonIdempotentEnd;
  }

  /**
   * Until when the batch may wait for results of the next idempotent steps, to share their commit. If it is lost, they run again.
   * Undefined: it must be committed now.
   */
  get canWaitUntil(): Instant | undefined {
    if (this.#openedAt === undefined || this.#hasUrgentEntry || this.#length > maxPackLength) return undefined;
    return this.isCodeFinished ? undefined : after(this.#openedAt, maxPackAge);
  }

  /** The steps to start, once. */
  takeStepsToStart(): readonly PendingStep[] {
    return this.stepsToStart.splice(0);
  }

  /** The function has ended, or it has reached the limit of step attempts. */
  get isCodeFinished(): boolean {
    return this.#isOverLimit || this.#invocation.end !== undefined;
  }

  get isOverLimit(): boolean {
    return this.#isOverLimit;
  }

  /** Attempts that an earlier workflow task started. A signal is sent again, because sending is idempotent. */
  addLostAttempts(lost: readonly StepInProgress[]): void {
    const { clock } = this.#context;
    if (this.isCodeFinished) return;
    for (const step of lost) {
      const pending = this.#invocation.stepOf(step.key);
      this.#hasUrgentEntry = true;
      if (pending?.kind === 'signal-send') this.stepsToStart.push(pending);
      else this.#add(lostEntry(step, clock.now()), true);
    }
  }

  addRequestedSteps(): void {
    for (let pending = this.#nextRequestedStep(); pending !== undefined; pending = this.#nextRequestedStep()) {
      this.entries.push({ kind: 'scheduled', command: pending.command });
      if (!canShareCommit(pending)) this.#hasUrgentEntry = true;
      this.#steps.recordRequested(pending.key, isWait(pending));
      if (!isWait(pending)) this.stepsToStart.push(pending);
    }
  }

  #nextRequestedStep(): PendingStep | undefined {
    if (this.#isOverLimit) return undefined;
    const pending = this.#invocation.takeRequested();
    if (pending === undefined || this.#steps.attempts < this.#context.workflow.maxStepAttempts) return pending;
    this.#isOverLimit = true;
    return undefined;
  }

  /** Delivers one result at a time: the code reacts to each result before it gets the next. */
  async addEnds(isFinalBatch: boolean): Promise<void> {
    const { stepFunctions, clock } = this.#context;
    for (let end = stepFunctions.takeEnded(); end !== undefined; end = stepFunctions.takeEnded()) {
      this.takenEnds.push(end);
      const step = this.#invocation.stepOf(end.key);
      if (step?.functionStep?.isIdempotent !== true) this.#hasNonIdempotentEnd = true;
      const entry = this.#entryFor(end);
      this.#openedAt ??= clock.now();
      this.#length += JSON.stringify(entry).length;
      if (step === undefined || !canShareCommit(step)) this.#hasUrgentEntry = true;
      this.#add(entry, false);
      const result = resultOf(entry);
      if (result === undefined) continue;
      if (this.#isOverLimit || (isFinalBatch && this.#invocation.end === undefined)) {
        this.undelivered.push(entry);
        continue;
      }
      this.#invocation.settle(end.key, result);
      await clock.waitUntilIdle();
      this.addRequestedSteps();
    }
  }

  #entryFor(end: StepFunctionEnd): EndEntry {
    const { clock, task, workflow } = this.#context;
    const retry = this.#invocation.stepOf(end.key)?.functionStep?.retry;
    const lost = this.#steps.of(end.key)?.lostAttempts ?? 0;
    const inputs = { retry, now: clock.now(), deadlineAt: task.run.deadlineAt };
    const entry = stepEndEntry(end, lost, { ...inputs, isLast: this.isCodeFinished });
    if (entry.kind !== 'retried' || this.#steps.attempts < workflow.maxStepAttempts) return entry;
    this.#isOverLimit = true;
    return stepEndEntry(end, lost, { ...inputs, isLast: true });
  }

  #add(entry: EndEntry, wasLost: boolean): void {
    this.entries.push(entry);
    if (entry.kind === 'retried') this.#steps.recordRetried(entry.key, entry.attempt, entry.retryAt, wasLost);
    else this.#steps.recordSettled(entry.key);
  }

  /** Adds how the function ended, as soon as no step runs. */
  addOutcome({ attempt }: Pick<History<JsonValue>, 'attempt'>): Outcome | undefined {
    if (!this.isCodeFinished || this.stepsToStart.length > 0 || this.#context.stepFunctions.isBusy) return undefined;
    // Steps that the code requested before it ended still run; the next workflow task runs them if this one has no time left.
    if (this.#invocation.hasRequestedSteps && !this.#isOverLimit) return undefined;
    const outcome = this.#outcome(attempt);
    this.entries.push(outcome);
    return outcome;
  }

  #outcome(attempt: number): Outcome {
    const { end } = this.#invocation;
    if (this.#isOverLimit || end === undefined) return { kind: 'threw', failure: this.#stepLimitFailure() };
    if (end.kind === 'threw') return this.#threw(failureOf(end.error, this.#context.mapStack), attempt);
    const stored = storedValue(end.value, 'result');
    return stored.kind === 'stored' ? { kind: 'returned', output: stored.value } : { kind: 'threw', failure: stored.failure };
  }

  #threw(failure: Failure, attempt: number): Outcome {
    const { workflow, clock, task } = this.#context;
    const decision = decideRetry(
      { ...workflowRetryDefaults, ...workflow.retry },
      { failedAttempt: attempt, isFinal: isFinalFailure(failure), now: clock.now(), deadlineAt: task.run.deadlineAt },
    );
    if (decision.kind === 'give_up') return { kind: 'threw', failure };
    return { kind: 'threw', failure, nextAttempt: { delayMs: decision.delayMs, retryAt: decision.retryAt } };
  }

  #stepLimitFailure(): Failure {
    const limit = this.#context.workflow.maxStepAttempts;
    return {
      cause: 'invalid',
      code: 'step_limit_exceeded',
      message: `the run needs more than ${limit} step attempts; raise maxStepAttempts of the workflow, or split the run`,
      details: { limit, stepAttempts: this.#steps.attempts },
    };
  }
}
