/** The code beyond its history: each turn of it is committed, and what it asked for begins then. */
import type { History, Turn } from '../engine/durable/turn.ts';
import { unreachable } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, after, earliest, seconds } from '../engine/time.ts';
import type { Ask } from './ask.ts';
import { type Going, type Leave, again, isClosing, isPressing, over, pressed, say } from './going.ts';
import type { Play } from './play.ts';
import type { Replay } from './replay.ts';
import { type EndEntry, resultOf } from './step-end.ts';
import type { StepsUnderWay, UnderWay } from './steps-under-way.ts';
import { TurnDraft } from './turn-draft.ts';

/** A try that is due this soon is waited for; else the run rests. */
const shortWait = seconds(1);

/** What a turn leaves to be done. */
type Left =
  | Pick<Turn, 'next' | 'wakeAt'>
  /** nothing is to be committed until something happens, or it is this late */
  | { readonly next: 'waits'; readonly until?: Instant };

export class Live {
  readonly #going: Going;
  readonly #play: Play;
  readonly #steps: StepsUnderWay;
  readonly #replay: Replay;
  readonly #history: History<JsonValue>;
  /** attempts that nobody here has begun: they are spoken of once */
  #lost: readonly UnderWay[];
  /** results that are on record, and that the next drive gives to the code */
  readonly #untold: EndEntry[] = [];
  #movedAt: Instant;

  constructor(going: Going, parts: { play: Play; steps: StepsUnderWay; replay: Replay; history: History<JsonValue> }) {
    this.#going = going;
    this.#play = parts.play;
    this.#steps = parts.steps;
    this.#replay = parts.replay;
    this.#history = parts.history;
    this.#lost = parts.steps.all.filter(({ key, retryAt }) => retryAt === undefined && !going.bodies.has(key));
    this.#movedAt = going.clock.now();
  }

  /** @returns `undo`: the code is over, and what it did is to be undone */
  async go(): Promise<Leave | { readonly kind: 'undo' }> {
    const { bell, clock, news, bodies } = this.#going;
    for (;;) {
      if (isPressing(news)) return pressed;
      const heard = await this.#hear();
      if (heard !== undefined) return heard;
      this.#beginDue();
      const isLast = isClosing(this.#going);
      const draft = new TurnDraft(this.#going, this.#play, this.#steps);
      if (!isLast) {
        draft.takeLost(this.#lost);
        this.#lost = [];
        draft.takeAsks();
      }
      await draft.takeEnds(isLast);
      const stranger = this.#replay.stranger();
      if (stranger !== undefined) return { kind: 'end', end: stranger };
      const left = this.#left(draft, isLast);
      if (left.next === 'waits' && draft.entries.length === 0) {
        this.#begin(draft.asked);
        await bell.wait(clock, left.until);
        continue;
      }
      const turn = left.next === 'waits' ? ({ next: 'goes_on' } as const) : left;
      // A turn that is overtaken is thrown away, and what it asked for is begun again: only of what may be done twice.
      if (draft.mayOverlap && this.#going.task.commitsFirst !== true)
        this.#begin(draft.asked.filter(({ work }) => work?.isIdempotent === true));
      const said = await say(this.#going, { entries: draft.entries, ...turn });
      switch (said.kind) {
        case 'again':
        case 'end':
        case 'pressed':
          bodies.putBack(draft.taken);
          return said;
        case 'committed':
          break;
        default:
          unreachable(said);
      }
      this.#committed(draft);
      if (said.run === 'ended') return over;
      if (said.run === 'rolling_back') return this.#undo();
      if (turn.next !== 'goes_on') return over;
      this.#begin(draft.asked);
    }
  }

  /** What others have committed while nothing of this drive's was: the code hears of it where it stands. */
  async #hear(): Promise<Leave | undefined> {
    const { news } = this.#going;
    const { history } = news;
    if (history === undefined) return undefined;
    if (history.attempt !== this.#history.attempt || history.ending !== undefined) return again(news, history);
    const fresh = history.entries.slice(this.#replay.seen);
    // Only waits end by themselves: for anything else somebody has driven the run too.
    const isOfWaits = fresh.every((entry) => entry.kind === 'settled' && this.#steps.of(entry.key) === undefined);
    if (!isOfWaits) return again(news, history);
    delete news.history;
    // Nothing is told before what came first.
    if (this.#untold.length > 0) this.#replay.noteOwn(fresh.length);
    const end = this.#untold.length > 0 ? undefined : await this.#replay.go(fresh);
    if (fresh.length > 0) this.#movedAt = this.#going.clock.now();
    return end === undefined ? undefined : { kind: 'end', end };
  }

  #left(draft: TurnDraft, isLast: boolean): Left {
    const { bodies, clock, task, stallMs } = this.#going;
    // Where the code has ended without results that are on record before its end, the next drive sees how it ends with them.
    const isToldAll = draft.isOverLimit || (this.#untold.length === 0 && draft.untold.length === 0);
    const outcome = isToldAll ? draft.takeOutcome(this.#history) : undefined;
    if (outcome?.kind === 'returned') return { next: 'rests' };
    // What the code did may have to be undone, and then this drive does it.
    if (outcome !== undefined)
      return outcome.again === undefined ? { next: 'goes_on' } : { next: 'rests', wakeAt: outcome.again.retryAt };
    const retries = draft.isOver ? [] : this.#waitingRetries();
    if (bodies.areBusy || draft.asked.length > 0) return { next: 'waits', ...until(isLast ? [] : retries) };
    if (isLast) return { next: 'hands_on' };
    // It came after the turn was made: the bell has rung.
    if (this.#play.isAsking) return { next: 'waits' };
    const now = clock.now();
    const due = earliest(retries);
    if (due !== undefined)
      return due <= after(now, shortWait) ? { next: 'waits', ...until([due, task.handsOnAt]) } : { next: 'rests', wakeAt: due };
    if (this.#play.isWaiting) return { next: 'rests' };
    // The code is at something that is no step: nobody can end that but itself.
    const stallsAt = after(this.#movedAt, stallMs);
    return now >= stallsAt ? { next: 'rests' } : { next: 'waits', ...until([stallsAt, task.handsOnAt]) };
  }

  #waitingRetries(): readonly Instant[] {
    const { bodies } = this.#going;
    return this.#steps.retried.flatMap(({ key, retryAt }) => (bodies.has(key) ? [] : [retryAt]));
  }

  #committed(draft: TurnDraft): void {
    this.#replay.noteOwn(draft.seen);
    this.#movedAt = this.#going.clock.now();
    this.#untold.push(...draft.untold);
  }

  /** What was done after the time to hand on is undone too. */
  #undo(): { readonly kind: 'undo' } {
    for (const entry of this.#untold) {
      const result = resultOf(entry);
      if (result !== undefined) this.#play.settle(entry.key, result);
    }
    return { kind: 'undo' };
  }

  #beginDue(): void {
    const { bodies, clock } = this.#going;
    if (isClosing(this.#going) || this.#play.end !== undefined) return;
    const now = clock.now();
    for (const { key, retryAt } of this.#steps.retried) {
      const ask = retryAt > now || bodies.has(key) ? undefined : this.#play.askOf(key);
      if (ask !== undefined) this.#begin([ask]);
    }
  }

  #begin(asks: readonly Ask[]): void {
    for (const ask of asks) {
      const step = this.#steps.of(ask.key);
      if (step !== undefined && !this.#going.bodies.has(ask.key)) this.#beginOne(ask, step);
    }
  }

  #beginOne({ key, work, command }: Ask, { attempt }: UnderWay): void {
    const { bodies, host } = this.#going;
    if (work !== undefined) return bodies.begin({ key, attempt }, (signal) => work.body({ signal, attempt, key }));
    if (command.kind !== 'signal-send') return;
    bodies.perform({ key, attempt }, async () => {
      const result = await host.perform(command);
      return result.status === 'completed'
        ? { kind: 'did', output: result.output }
        : { kind: 'failed', failure: result.failure, isAnswer: true };
    });
  }
}

const until = (moments: readonly Instant[]): { readonly until?: Instant } => {
  const first = earliest(moments);
  return first === undefined ? {} : { until: first };
};
