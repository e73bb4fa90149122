/** Steps that a drive has to see to, as far as its turns say: which attempt is next, when, and how many were nobody's failures. */
import type { History, OpenStep } from '../engine/durable/turn.ts';
import { type Attempt, attempt as attemptNo, firstAttempt } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';

export type UnderWay = Pick<OpenStep, 'key' | 'attempt' | 'lost' | 'retryAt'>;

export class StepsUnderWay {
  readonly #steps = new Map<string, UnderWay>();
  readonly #retried = new Map<string, UnderWay & { readonly retryAt: Instant }>();
  /** of all steps, for the limit of them */
  #attempts: number;

  constructor({ open, stepAttempts }: Pick<History<JsonValue>, 'open' | 'stepAttempts'>) {
    for (const step of open) this.#note(step);
    this.#attempts = stepAttempts;
  }

  get attempts(): number {
    return this.#attempts;
  }

  get all(): readonly UnderWay[] {
    return [...this.#steps.values()];
  }

  /** Those that are to be tried again, or are just being. */
  get retried(): readonly (UnderWay & { readonly retryAt: Instant })[] {
    return [...this.#retried.values()];
  }

  of(key: string): UnderWay | undefined {
    return this.#steps.get(key);
  }

  noteAsked(key: string, isWait: boolean): void {
    this.#attempts += 1;
    if (!isWait) this.#steps.set(key, { key, attempt: firstAttempt, lost: 0 });
  }

  noteRetried(key: string, attempt: Attempt, retryAt: Instant, wasLost: boolean): void {
    this.#attempts += 1;
    const lost = (this.#steps.get(key)?.lost ?? 0) + (wasLost ? 1 : 0);
    this.#note({ key, attempt: attemptNo(attempt + 1), lost, retryAt });
  }

  noteSettled(key: string): void {
    this.#steps.delete(key);
    this.#retried.delete(key);
  }

  #note(step: UnderWay): void {
    this.#steps.set(step.key, step);
    const { retryAt } = step;
    if (retryAt !== undefined) this.#retried.set(step.key, { ...step, retryAt });
  }
}
