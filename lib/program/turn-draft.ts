/** A turn in the making: what the code was told, what it asked for next, and what is to begin once it is committed. */
import { workflowRetryDefaults, judgeFailure, isFinalFailure } from '../engine/durable/step-retry.ts';
import type { History, TurnEntry } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type Ask, isWait } from './ask.ts';
import type { BodyEnd } from './bodies.ts';
import { failureOf } from './failures.ts';
import type { Going } from './going.ts';
import type { Play } from './play.ts';
import { type EndEntry, entryOf, lostEntry, resultOf } from './step-end.ts';
import type { StepsUnderWay, UnderWay } from './steps-under-way.ts';
import { storedValue } from './stored-value.ts';

type Outcome = Extract<TurnEntry, { kind: 'returned' | 'threw' }>;

export class TurnDraft {
  readonly entries: TurnEntry[] = [];
  /** in hand again where the turn is not committed */
  readonly taken: BodyEnd[] = [];
  /** begin when the turn is committed */
  readonly asked: Ask[] = [];
  /** results that this drive does not give to the code any more */
  readonly untold: EndEntry[] = [];
  readonly #going: Going;
  readonly #play: Play;
  readonly #steps: StepsUnderWay;
  #isOverLimit = false;
  /** results that the author minds to lose: until they are committed nothing follows from them */
  #hasUnique = false;

  constructor(going: Going, play: Play, steps: StepsUnderWay) {
    this.#going = going;
    this.#play = play;
    this.#steps = steps;
  }

  /** Entries that a replay will see. */
  get seen(): number {
    return this.entries.filter(({ kind }) => kind === 'asked' || kind === 'completed' || kind === 'failed').length;
  }

  /** Were the turn lost, the code would do again what it says may be done again: what it asks for next need not wait for it. */
  get mayOverlap(): boolean {
    return this.taken.length > 0 && !this.#hasUnique;
  }

  /** The code goes no further: it has ended, or has asked for too much. */
  get isOver(): boolean {
    return this.#isOverLimit || this.#play.end !== undefined;
  }

  get isOverLimit(): boolean {
    return this.#isOverLimit;
  }

  /** Attempts that nobody here has begun. A sending is simply done once more: twice is once. */
  takeLost(lost: readonly UnderWay[]): void {
    const { clock } = this.#going;
    if (this.isOver) return;
    for (const step of lost) {
      const ask = this.#play.askOf(step.key);
      if (ask?.kind === 'signal-send') this.asked.push(ask);
      else this.#add(lostEntry(step, clock.now()), true);
    }
  }

  takeAsks(): void {
    for (let ask = this.#nextAsk(); ask !== undefined; ask = this.#nextAsk()) {
      this.entries.push({ kind: 'asked', command: ask.command });
      this.#steps.noteAsked(ask.key, isWait(ask));
      if (!isWait(ask)) this.asked.push(ask);
    }
  }

  #nextAsk(): Ask | undefined {
    if (this.#isOverLimit) return undefined;
    const ask = this.#play.takeAsk();
    if (ask === undefined || this.#steps.attempts < this.#going.workflow.maxStepAttempts) return ask;
    this.#isOverLimit = true;
    return undefined;
  }

  /** One after the other: what the code does about one comes before it hears of the next. */
  async takeEnds(isClosing: boolean): Promise<void> {
    const { bodies, clock } = this.#going;
    for (let end = bodies.take(); end !== undefined; end = bodies.take()) {
      this.taken.push(end);
      if (this.#play.askOf(end.key)?.work?.isIdempotent !== true) this.#hasUnique = true;
      const entry = this.#judge(end);
      this.#add(entry, false);
      const result = resultOf(entry);
      if (result === undefined) continue;
      if (this.#isOverLimit || (isClosing && this.#play.end === undefined)) {
        this.untold.push(entry);
        continue;
      }
      this.#play.settle(end.key, result);
      await clock.drained();
      this.takeAsks();
    }
  }

  #judge(end: BodyEnd): EndEntry {
    const { clock, task, workflow } = this.#going;
    const retry = this.#play.askOf(end.key)?.work?.retry;
    const lost = this.#steps.of(end.key)?.lost ?? 0;
    const by = { retry, now: clock.now(), deadlineAt: task.run.deadlineAt };
    const entry = entryOf(end, lost, { ...by, isLast: this.isOver });
    if (entry.kind !== 'retried' || this.#steps.attempts < workflow.maxStepAttempts) return entry;
    this.#isOverLimit = true;
    return entryOf(end, lost, { ...by, isLast: true });
  }

  #add(entry: EndEntry, wasLost: boolean): void {
    this.entries.push(entry);
    if (entry.kind === 'retried') this.#steps.noteRetried(entry.key, entry.attempt, entry.retryAt, wasLost);
    else this.#steps.noteSettled(entry.key);
  }

  /** How the code ended, once nothing is at work any more. */
  takeOutcome({ attempt }: Pick<History<JsonValue>, 'attempt'>): Outcome | undefined {
    if (!this.isOver || this.asked.length > 0 || this.#going.bodies.areBusy) return undefined;
    // What the code asked for before it ended is done, by the next drive where this one has no time left.
    if (this.#play.isAsking && !this.#isOverLimit) return undefined;
    const outcome = this.#outcome(attempt);
    this.entries.push(outcome);
    return outcome;
  }

  #outcome(attempt: number): Outcome {
    const { end } = this.#play;
    if (this.#isOverLimit || end === undefined) return { kind: 'threw', failure: this.#tooMany() };
    if (end.kind === 'threw') return this.#threw(failureOf(end.error), attempt);
    const storing = storedValue(end.value, 'result');
    return storing.kind === 'stored' ? { kind: 'returned', output: storing.value } : { kind: 'threw', failure: storing.failure };
  }

  #threw(failure: Failure, attempt: number): Outcome {
    const { workflow, clock, task } = this.#going;
    const judged = judgeFailure(
      { ...workflowRetryDefaults, ...workflow.retry },
      { failed: attempt, isFinal: isFinalFailure(failure), now: clock.now(), deadlineAt: task.run.deadlineAt },
    );
    if (judged.kind === 'over') return { kind: 'threw', failure };
    return { kind: 'threw', failure, again: { delayMs: judged.delayMs, retryAt: judged.retryAt } };
  }

  #tooMany(): Failure {
    const limit = this.#going.workflow.maxStepAttempts;
    return {
      cause: 'invalid',
      code: 'step_limit_exceeded',
      message: `the run asks for more than ${limit} attempts of steps`,
      details: { limit, stepAttempts: this.#steps.attempts },
    };
  }
}
