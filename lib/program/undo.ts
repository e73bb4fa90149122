/** Undoes what the code did: the rollbacks of the steps that were done, the last one first, each a step of its own. */
import { rollbackPrefix } from '../engine/durable/step.ts';
import type { StepResult, TurnEntry } from '../engine/durable/turn.ts';
import { type JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { type Instant, after, seconds } from '../engine/time.ts';
import type { BodyEnd } from './bodies.ts';
import { type Going, type Leave, again, isClosing, isPressing, over, pressed, say } from './going.ts';
import type { Done, Play } from './play.ts';
import { type EndEntry, entryOf, lostEntry, resultOf } from './step-end.ts';
import type { StepsUnderWay } from './steps-under-way.ts';
import { ownCopy } from './stored-value.ts';

const shortWait = seconds(1);
/** how long what is at work may take to heed its signal */
const graceMs = seconds(5);

interface Parts {
  readonly play: Play;
  readonly steps: StepsUnderWay;
  /** what was undone before, and how that went */
  readonly rollbacks: ReadonlyMap<string, StepResult<JsonValue> | undefined>;
}

export class Undo {
  readonly #going: Going;
  readonly #steps: StepsUnderWay;
  readonly #rollbacks: Parts['rollbacks'];
  readonly #done: readonly Done[];
  #entries: TurnEntry[] = [];
  #taken: BodyEnd[] = [];

  constructor(going: Going, { play, steps, rollbacks }: Parts) {
    this.#going = going;
    this.#steps = steps;
    this.#rollbacks = rollbacks;
    this.#done = play.done.toReversed();
  }

  async go(): Promise<Leave> {
    const { bodies } = this.#going;
    bodies.keepOnly(this.#steps.all.filter(({ key }) => key.startsWith(rollbackPrefix)));
    await bodies.haveStopped(graceMs);
    const failures: { key: string; failure: Failure }[] = [];
    for (const done of this.#done) {
      const key = `${rollbackPrefix}${done.ask.key}`;
      if (done.ask.work?.rollback === undefined) continue;
      const result = this.#rollbacks.get(key) ?? (await this.#one(key, done));
      if (!('status' in result)) return result;
      if (result.status === 'failed') failures.push({ key: done.ask.key, failure: result.failure });
    }
    this.#entries.push({ kind: 'rolled-back', failures });
    return (await this.#commit('rests')) ?? over;
  }

  async #one(key: string, done: Done): Promise<StepResult<JsonValue> | Leave> {
    for (;;) {
      const begun = await this.#begin(key, done);
      if (begun !== undefined) return begun;
      const end = await this.#ended();
      if (!('came' in end)) return end;
      const result = resultOf(this.#judge(end, done));
      if (result !== undefined) return result;
    }
  }

  /** @returns why it is not at work now, where it is not */
  async #begin(key: string, { ask: { work }, output }: Done): Promise<Leave | undefined> {
    const { bodies, clock } = this.#going;
    for (;;) {
      if (bodies.has(key)) return undefined;
      const now = clock.now();
      if (isClosing(this.#going)) return (await this.#commit('hands_on')) ?? over;
      const step = this.#steps.of(key);
      if (step === undefined) {
        const retry = work?.retry;
        this.#entries.push({ kind: 'asked', command: { kind: 'rollback', key, ...(retry === undefined ? {} : { retry }) } });
        this.#steps.noteAsked(key, false);
      } else if (step.retryAt === undefined) this.#add(lostEntry(step, now), true);
      else if (step.retryAt > after(now, shortWait)) return (await this.#commit('rests', step.retryAt)) ?? over;
      const left = this.#entries.length === 0 ? undefined : await this.#commit('goes_on');
      if (left !== undefined) return left;
      const { attempt, retryAt = now } = this.#steps.of(key) ?? { attempt: undefined };
      if (attempt === undefined) continue;
      if (retryAt <= clock.now()) {
        bodies.begin({ key, attempt }, (signal) => work?.rollback?.({ signal, attempt, key, output: ownCopy(output) }));
        return undefined;
      }
      const called = await this.#wait(retryAt);
      if (called !== undefined) return called;
    }
  }

  async #ended(): Promise<BodyEnd | Leave> {
    for (;;) {
      const end = this.#going.bodies.take();
      if (end !== undefined) {
        this.#taken.push(end);
        return end;
      }
      const called = await this.#wait();
      if (called !== undefined) return called;
    }
  }

  async #wait(until?: Instant): Promise<Leave | undefined> {
    const { bell, clock, news, bodies } = this.#going;
    await bell.wait(clock, until);
    if (!isPressing(news) && news.history === undefined) return undefined;
    bodies.putBack(this.#taken);
    return news.history === undefined ? pressed : again(news, news.history);
  }

  #judge(end: BodyEnd, { ask }: Done): EndEntry {
    const { clock, task } = this.#going;
    // What is undone after the run's deadline is still to be undone.
    const deadlineAt = after(task.run.deadlineAt, undoGrace);
    const lost = this.#steps.of(end.key)?.lost ?? 0;
    // What the rollback returns is of no use to anybody.
    const came = end.came.kind === 'did' ? { kind: 'did' as const, output: null } : end.came;
    const entry = entryOf({ ...end, came }, lost, { retry: ask.work?.retry, now: clock.now(), deadlineAt, isLast: false });
    this.#add(entry, false);
    return entry;
  }

  #add(entry: EndEntry, wasLost: boolean): void {
    this.#entries.push(entry);
    if (entry.kind === 'retried') this.#steps.noteRetried(entry.key, entry.attempt, entry.retryAt, wasLost);
    else this.#steps.noteSettled(entry.key);
  }

  /** @returns undefined: it is committed, and the run is still being undone */
  async #commit(next: 'goes_on' | 'rests' | 'hands_on', wakeAt?: Instant): Promise<Leave | undefined> {
    const said = await say(this.#going, { entries: this.#entries, next, ...(wakeAt === undefined ? {} : { wakeAt }) });
    if (said.kind !== 'committed') {
      this.#going.bodies.putBack(this.#taken);
      return said;
    }
    this.#entries = [];
    this.#taken = [];
    return said.run === 'ended' ? over : undefined;
  }
}

/** As long as the engine lets a run go on undoing after its deadline. */
const undoGrace = seconds(3_600);
