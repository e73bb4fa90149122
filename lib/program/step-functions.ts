/** The running step functions of one workflow task, and their results. They survive a replay. */
import type { OpenStep } from '../engine/durable/command-batch.ts';
import type { Attempt } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { DurationMs, Instant } from '../engine/time.ts';
import { createSeededRandom } from './seeded-random.ts';
import type { ProgramClock } from './clock.ts';
import { type StackMapper, failureOf } from './failures.ts';
import { PrintedLines, stepScope } from './printed.ts';
import { storedValue } from './stored-value.ts';

export interface StepAttempt {
  readonly key: string;
  readonly attempt: Attempt;
}

export interface StepFunctionEnd extends StepAttempt {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed: readonly string[];
  readonly outcome:
    | { readonly kind: 'completed'; readonly output: JsonValue }
    /** `isNonRetryable`: the service gave the failure, so a retry gives the same */
    | { readonly kind: 'failed'; readonly failure: Failure; readonly isNonRetryable?: true };
}

type StepOperation = (signal: AbortSignal) => Promise<StepFunctionEnd['outcome']>;

interface RunningStepFunction extends StepAttempt {
  readonly abortController: AbortController;
  /** resolves when the function has ended, also after an abort */
  readonly finished: Promise<void>;
}

interface StepFunctionSettings {
  readonly clock: ProgramClock;
  readonly runId: string;
  /** maps the stacks of errors to the author's files */
  readonly mapStack: StackMapper | undefined;
  /** called at the end of each step function */
  readonly onEnd: () => void;
}

export class StepFunctions {
  readonly #clock: ProgramClock;
  readonly #onEnd: () => void;
  readonly #mapStack: StackMapper | undefined;
  /** seeds the random numbers of step functions */
  readonly #runId: string;
  readonly #running = new Map<string, RunningStepFunction>();
  /** aborted, but not yet ended */
  readonly #stopping = new Set<RunningStepFunction>();
  #ended: StepFunctionEnd[] = [];

  constructor({ clock, runId, mapStack, onEnd }: StepFunctionSettings) {
    this.#clock = clock;
    this.#runId = runId;
    this.#mapStack = mapStack;
    this.#onEnd = onEnd;
  }

  get running(): readonly StepAttempt[] {
    return [...this.#running.values()].map(({ key, attempt }) => ({ key, attempt }));
  }

  /** A step function runs, or has ended and its result is not taken yet. */
  get isBusy(): boolean {
    return this.#running.size > 0 || this.#ended.length > 0;
  }

  /** The step function runs, or its result is not taken yet. */
  has(key: string): boolean {
    return this.#running.has(key) || this.#ended.some((end) => end.key === key);
  }

  takeEnded(): StepFunctionEnd | undefined {
    return this.#ended.shift();
  }

  /** Returns results whose commit failed to the front of the queue. */
  putBack(ends: readonly StepFunctionEnd[]): void {
    this.#ended = [...ends, ...this.#ended];
  }

  /** Runs the author's function. */
  start(stepAttempt: StepAttempt, stepFunction: (signal: AbortSignal) => unknown): void {
    this.#start(stepAttempt, async (signal) => {
      try {
        const stored = storedValue(await stepFunction(signal), 'result');
        return stored.kind === 'stored'
          ? { kind: 'completed', output: stored.value }
          : { kind: 'failed', failure: stored.failure };
      } catch (error) {
        return { kind: 'failed', failure: failureOf(error, this.#mapStack) };
      }
    });
  }

  /** Runs an operation of the service, such as sending a signal. */
  perform(stepAttempt: StepAttempt, operation: StepOperation): void {
    this.#start(stepAttempt, async (signal) => {
      try {
        return await operation(signal);
      } catch (error) {
        return { kind: 'failed', failure: { ...failureOf(error), cause: 'provider_error' } };
      }
    });
  }

  /** Aborts all step functions except these, and drops their results. */
  retainOnly(open: readonly Pick<OpenStep, 'key' | 'attempt'>[]): void {
    const wanted = new Map(open.map(({ key, attempt }) => [key, attempt]));
    this.#ended = this.#ended.filter(({ key, attempt }) => wanted.get(key) === attempt);
    for (const stepFunction of this.#running.values())
      if (wanted.get(stepFunction.key) !== stepFunction.attempt)
        this.#abort(stepFunction, 'the run no longer needs this attempt');
  }

  abortAll(reason: string): void {
    this.#ended = [];
    for (const stepFunction of this.#running.values()) this.#abort(stepFunction, reason);
  }

  /** Waits until the aborted functions have ended, at most `grace`. */
  async waitUntilStopped(grace: DurationMs): Promise<void> {
    if (this.#stopping.size === 0) return;
    const graceAbort = new AbortController();
    const stopped = Promise.all([...this.#stopping].map(({ finished }) => finished));
    await Promise.race([stopped, this.#clock.sleep(grace, graceAbort.signal)]);
    graceAbort.abort();
  }

  #abort(stepFunction: RunningStepFunction, reason: string): void {
    this.#running.delete(stepFunction.key);
    this.#stopping.add(stepFunction);
    stepFunction.abortController.abort(new Error(reason));
  }

  #start({ key, attempt }: StepAttempt, operation: StepOperation): void {
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const stepFunction: RunningStepFunction = { key, attempt, abortController: new AbortController(), finished };
    const startedAt = this.#clock.now();
    const lines = new PrintedLines();
    const seededRandom = createSeededRandom(`${this.#runId}/${key}/${attempt}`);
    this.#running.set(key, stepFunction);
    void stepScope
      .run({ lines, seededRandom }, () => operation(stepFunction.abortController.signal))
      .then((outcome) => {
        finish();
        this.#stopping.delete(stepFunction);
        if (this.#running.get(key) !== stepFunction) return;
        this.#running.delete(key);
        this.#ended.push({ key, attempt, startedAt, endedAt: this.#clock.now(), printed: lines.takeLines(), outcome });
        this.#onEnd();
      });
  }
}
