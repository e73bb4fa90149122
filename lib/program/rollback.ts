/** Runs the rollbacks (compensations) of completed steps in reverse order. Each rollback is a step. */
import { defined } from '../base/defined.ts';
import { rollbackPrefix } from '../engine/durable/step.ts';
import type { StepResult, CommandBatchEntry } from '../engine/durable/command-batch.ts';
import { type JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type Instant, after, seconds } from '../engine/time.ts';
import type { StepFunctionEnd } from './step-functions.ts';
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
import type { CompletedStep, WorkflowInvocation } from './workflow-invocation.ts';
import { type EndEntry, stepEndEntry, lostEntry, resultOf } from './step-end.ts';
import type { StepsInProgress } from './steps-in-progress.ts';
import { deepCopy } from './stored-value.ts';

const maxInlineRetryWait = seconds(1);
/** how long running step functions get to stop after their signal is aborted */
const graceMs = seconds(5);

interface RollbackParts {
  readonly invocation: WorkflowInvocation;
  readonly steps: StepsInProgress;
  /** results of rollbacks that earlier workflow tasks started */
  readonly rollbacks: ReadonlyMap<string, StepResult<JsonValue> | undefined>;
}

export class Rollback {
  readonly #context: ExecutionContext;
  readonly #steps: StepsInProgress;
  readonly #rollbacks: RollbackParts['rollbacks'];
  readonly #completed: readonly CompletedStep[];
  #entries: CommandBatchEntry[] = [];
  #takenEnds: StepFunctionEnd[] = [];

  constructor(context: ExecutionContext, { invocation, steps, rollbacks }: RollbackParts) {
    this.#context = context;
    this.#steps = steps;
    this.#rollbacks = rollbacks;
    this.#completed = invocation.completed.toReversed();
  }

  async run(): Promise<ExitReason> {
    const { stepFunctions } = this.#context;
    stepFunctions.retainOnly(this.#steps.all.filter(({ key }) => key.startsWith(rollbackPrefix)));
    await stepFunctions.waitUntilStopped(graceMs);
    const failures: { key: string; failure: Failure }[] = [];
    for (const completed of this.#completed) {
      const key = `${rollbackPrefix}${completed.step.key}`;
      if (completed.step.functionStep?.rollback === undefined) continue;
      const result = this.#rollbacks.get(key) ?? (await this.#rollBackStep(key, completed));
      if (!('status' in result)) return result;
      if (result.status === 'failed') failures.push({ key: completed.step.key, failure: result.failure });
    }
    this.#entries.push({ kind: 'rolled-back', failures });
    return (await this.#commit('suspended')) ?? taskFinished;
  }

  async #rollBackStep(key: string, completed: CompletedStep): Promise<StepResult<JsonValue> | ExitReason> {
    for (;;) {
      const exitReason = await this.#startAttempt(key, completed);
      if (exitReason !== undefined) return exitReason;
      const end = await this.#nextEnd();
      if (!('outcome' in end)) return end;
      const result = resultOf(this.#recordEnd(end, completed));
      if (result !== undefined) return result;
    }
  }

  /** @returns why the task ends instead of starting the attempt; undefined when the attempt runs */
  async #startAttempt(key: string, { step: { functionStep }, output }: CompletedStep): Promise<ExitReason | undefined> {
    const { stepFunctions, clock } = this.#context;
    for (;;) {
      if (stepFunctions.has(key)) return undefined;
      const now = clock.now();
      if (isHandingOff(this.#context)) return (await this.#commit('yielded')) ?? taskFinished;
      const step = this.#steps.of(key);
      if (step === undefined) {
        const retry = functionStep?.retry;
        this.#entries.push({ kind: 'scheduled', command: defined({ kind: 'rollback', key, retry }) });
        this.#steps.recordRequested(key, false);
      } else if (step.retryAt === undefined) this.#add(lostEntry(step, now), true);
      else if (step.retryAt > after(now, maxInlineRetryWait))
        return (await this.#commit('suspended', step.retryAt)) ?? taskFinished;
      const exitReason = this.#entries.length === 0 ? undefined : await this.#commit('running');
      if (exitReason !== undefined) return exitReason;
      const { attempt, retryAt = now } = this.#steps.of(key) ?? { attempt: undefined };
      if (attempt === undefined) continue;
      if (retryAt <= clock.now()) {
        stepFunctions.start({ key, attempt }, (signal) =>
          functionStep?.rollback?.({ signal, attempt, key, output: deepCopy(output) }),
        );
        return undefined;
      }
      const interrupted = await this.#wait(retryAt);
      if (interrupted !== undefined) return interrupted;
    }
  }

  async #nextEnd(): Promise<StepFunctionEnd | ExitReason> {
    for (;;) {
      const end = this.#context.stepFunctions.takeEnded();
      if (end !== undefined) {
        this.#takenEnds.push(end);
        return end;
      }
      const interrupted = await this.#wait();
      if (interrupted !== undefined) return interrupted;
    }
  }

  async #wait(until?: Instant): Promise<ExitReason | undefined> {
    const { wakeUp, clock, interrupts, stepFunctions } = this.#context;
    await wakeUp.wait(clock, until);
    if (!isAborting(interrupts) && interrupts.history === undefined) return undefined;
    stepFunctions.putBack(this.#takenEnds);
    return interrupts.history === undefined ? aborted : restartWith(interrupts, interrupts.history);
  }

  #recordEnd(end: StepFunctionEnd, { step }: CompletedStep): EndEntry {
    const { clock, task } = this.#context;
    // Rollbacks continue past the run's deadline.
    const deadlineAt = after(task.run.deadlineAt, rollbackGrace);
    const lost = this.#steps.of(end.key)?.lostAttempts ?? 0;
    // The return value of a rollback is not stored.
    const outcome = end.outcome.kind === 'completed' ? { kind: 'completed' as const, output: null } : end.outcome;
    const entry = stepEndEntry({ ...end, outcome }, lost, {
      retry: step.functionStep?.retry,
      now: clock.now(),
      deadlineAt,
      isLast: false,
    });
    this.#add(entry, false);
    return entry;
  }

  #add(entry: EndEntry, wasLost: boolean): void {
    this.#entries.push(entry);
    if (entry.kind === 'retried') this.#steps.recordRetried(entry.key, entry.attempt, entry.retryAt, wasLost);
    else this.#steps.recordSettled(entry.key);
  }

  /** @returns undefined when the batch is committed and the rollback continues */
  async #commit(next: 'running' | 'suspended' | 'yielded', wakeAt?: Instant): Promise<ExitReason | undefined> {
    const result = await commitBatch(
      this.#context,
      defined({
        entries: this.#entries,
        next,
        wakeAt,
      }),
    );
    if (result.kind !== 'committed') {
      this.#context.stepFunctions.putBack(this.#takenEnds);
      return result;
    }
    this.#entries = [];
    this.#takenEnds = [];
    return result.run === 'ended' ? taskFinished : undefined;
  }
}

/** The engine allows a rollback this long after the run's deadline. */
const rollbackGrace = seconds(3_600);
