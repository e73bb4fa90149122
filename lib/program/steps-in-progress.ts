/** The open steps of a workflow task, from its history and its batches: next attempt, retry time and lost attempts. */
import type { History, OpenStep } from '../engine/durable/command-batch.ts';
import { type Attempt, attempt as attemptNo, firstAttempt } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

export type StepInProgress = Pick<OpenStep, 'key' | 'attempt' | 'lostAttempts' | 'retryAt'>;

export class StepsInProgress {
  readonly #steps = new Map<string, StepInProgress>();
  readonly #awaitingRetry = new Map<string, StepInProgress & { readonly retryAt: Instant }>();
  /** attempts of all steps; `maxStepAttempts` limits them */
  #attempts: number;

  constructor({ open, stepAttempts }: Pick<History<JsonValue>, 'open' | 'stepAttempts'>) {
    for (const step of open) this.#record(step);
    this.#attempts = stepAttempts;
  }

  get attempts(): number {
    return this.#attempts;
  }

  get all(): readonly StepInProgress[] {
    return [...this.#steps.values()];
  }

  /** Steps with a retry that is scheduled or running. */
  get awaitingRetry(): readonly (StepInProgress & { readonly retryAt: Instant })[] {
    return [...this.#awaitingRetry.values()];
  }

  of(key: string): StepInProgress | undefined {
    return this.#steps.get(key);
  }

  recordRequested(key: string, isWait: boolean): void {
    this.#attempts += 1;
    if (!isWait) this.#steps.set(key, { key, attempt: firstAttempt, lostAttempts: 0 });
  }

  recordRetried(key: string, attempt: Attempt, retryAt: Instant, wasLost: boolean): void {
    this.#attempts += 1;
    const lostAttempts = (this.#steps.get(key)?.lostAttempts ?? 0) + (wasLost ? 1 : 0);
    this.#record({ key, attempt: attemptNo(attempt + 1), lostAttempts, retryAt });
  }

  /** The backoff of a step may have been ended early. */
  updateRetryTimes(open: readonly Pick<OpenStep, 'key' | 'attempt' | 'retryAt'>[]): void {
    for (const { key, attempt, retryAt } of open) {
      const step = this.#awaitingRetry.get(key);
      if (step?.attempt === attempt && retryAt !== undefined) this.#record({ ...step, retryAt });
    }
  }

  recordSettled(key: string): void {
    this.#steps.delete(key);
    this.#awaitingRetry.delete(key);
  }

  #record(step: StepInProgress): void {
    this.#steps.set(step.key, step);
    const { retryAt } = step;
    if (retryAt !== undefined) this.#awaitingRetry.set(step.key, { ...step, retryAt });
  }
}
