/** The bodies of steps that are at work in one drive, and what they have come to. They outlive a pass of the code. */
import type { OpenStep } from '../engine/durable/turn.ts';
import type { Attempt } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { DurationMs, Instant } from '../engine/time.ts';
import { chanceOf } from './chance.ts';
import type { ProgramClock } from './clock.ts';
import { failureOf } from './failures.ts';
import { PrintedLines, bodyScope } from './printed.ts';
import { storedValue } from './stored-value.ts';

export interface StepAttempt {
  readonly key: string;
  readonly attempt: Attempt;
}

export interface BodyEnd extends StepAttempt {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed: readonly string[];
  readonly came:
    | { readonly kind: 'did'; readonly output: JsonValue }
    /** `isAnswer`: it was not the code that failed, and nothing is to be tried again */
    | { readonly kind: 'failed'; readonly failure: Failure; readonly isAnswer?: true };
}

type Work = (signal: AbortSignal) => Promise<BodyEnd['came']>;

interface Body extends StepAttempt {
  readonly stop: AbortController;
  /** when it is at work no more, asked for or not */
  readonly finished: Promise<void>;
}

export class Bodies {
  readonly #clock: ProgramClock;
  readonly #onEnd: () => void;
  /** seeds the numbers of bodies */
  readonly #runId: string;
  readonly #running = new Map<string, Body>();
  /** told to stop, and still at it */
  readonly #stopping = new Set<Body>();
  #ended: BodyEnd[] = [];

  constructor(clock: ProgramClock, runId: string, onEnd: () => void) {
    this.#clock = clock;
    this.#runId = runId;
    this.#onEnd = onEnd;
  }

  get running(): readonly StepAttempt[] {
    return [...this.#running.values()].map(({ key, attempt }) => ({ key, attempt }));
  }

  /** Something is at work, or has ended and was not looked at yet. */
  get areBusy(): boolean {
    return this.#running.size > 0 || this.#ended.length > 0;
  }

  /** It is at work, or what it came to is in hand. */
  has(key: string): boolean {
    return this.#running.has(key) || this.#ended.some((end) => end.key === key);
  }

  take(): BodyEnd | undefined {
    return this.#ended.shift();
  }

  /** They were not committed after all, and come before all others. */
  putBack(ends: readonly BodyEnd[]): void {
    this.#ended = [...ends, ...this.#ended];
  }

  /** Runs the author's function. */
  begin(of: StepAttempt, body: (signal: AbortSignal) => unknown): void {
    this.#begin(of, async (signal) => {
      try {
        const storing = storedValue(await body(signal), 'result');
        return storing.kind === 'stored' ? { kind: 'did', output: storing.value } : { kind: 'failed', failure: storing.failure };
      } catch (error) {
        return { kind: 'failed', failure: failureOf(error) };
      }
    });
  }

  /** Does what the service does itself. */
  perform(of: StepAttempt, work: Work): void {
    this.#begin(of, async (signal) => {
      try {
        return await work(signal);
      } catch (error) {
        return { kind: 'failed', failure: { ...failureOf(error), cause: 'provider_error' } };
      }
    });
  }

  /** Only these are asked for: whatever else is at work is told to stop, and what it came to is dropped. */
  keepOnly(open: readonly Pick<OpenStep, 'key' | 'attempt'>[]): void {
    const wanted = new Map(open.map(({ key, attempt }) => [key, attempt]));
    this.#ended = this.#ended.filter(({ key, attempt }) => wanted.get(key) === attempt);
    for (const body of this.#running.values())
      if (wanted.get(body.key) !== body.attempt) this.#stop(body, 'it is not asked for any more');
  }

  stopAll(reason: string): void {
    this.#ended = [];
    for (const body of this.#running.values()) this.#stop(body, reason);
  }

  /** Those that were told to stop have done so, or their time for it is over. */
  async haveStopped(grace: DurationMs): Promise<void> {
    if (this.#stopping.size === 0) return;
    const over = new AbortController();
    const stopped = Promise.all([...this.#stopping].map(({ finished }) => finished));
    await Promise.race([stopped, this.#clock.sleep(grace, over.signal)]);
    over.abort();
  }

  #stop(body: Body, reason: string): void {
    this.#running.delete(body.key);
    this.#stopping.add(body);
    body.stop.abort(new Error(reason));
  }

  #begin({ key, attempt }: StepAttempt, work: Work): void {
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const body: Body = { key, attempt, stop: new AbortController(), finished };
    const startedAt = this.#clock.now();
    const lines = new PrintedLines();
    const chance = chanceOf(`${this.#runId}/${key}/${attempt}`);
    this.#running.set(key, body);
    void bodyScope
      .run({ lines, chance }, () => work(body.stop.signal))
      .then((came) => {
        finish();
        this.#stopping.delete(body);
        if (this.#running.get(key) !== body) return;
        this.#running.delete(key);
        this.#ended.push({ key, attempt, startedAt, endedAt: this.#clock.now(), printed: lines.taken(), came });
        this.#onEnd();
      });
  }
}
