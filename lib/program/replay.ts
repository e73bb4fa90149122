/** Gives the code its history: what it was told, in that order; what it asked for, it has to ask for again. */
import type { HistoryEntry, StepResult } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import { after } from '../engine/time.ts';
import type { DriveEnd } from '../ports/programs.ts';
import { type Ask, isWait } from './ask.ts';
import { diverged, isSame } from './divergence.ts';
import { type Going, isPressing } from './going.ts';
import type { Play } from './play.ts';

type Entry = HistoryEntry<JsonValue>;
type AskedEntry = Extract<Entry, { kind: 'asked' }>;

export class Replay {
  readonly #going: Going;
  readonly #play: Play;
  /** what was undone, and how that went; absent results: it is open */
  readonly rollbacks = new Map<string, StepResult<JsonValue> | undefined>();
  #position = 0;
  #seen = 0;

  constructor(going: Going, play: Play) {
    this.#going = going;
    this.#play = play;
  }

  /** entries that the code has seen, or caused */
  get seen(): number {
    return this.#seen;
  }

  noteOwn(entries: number): void {
    this.#seen += entries;
  }

  /** @returns what ends the drive; undefined: the code is where the history is, or somebody has news that go before */
  async go(entries: readonly Entry[], speaksAfterwards = true): Promise<DriveEnd | undefined> {
    const firstNews = newsFrom(entries);
    for (const [index, entry] of entries.entries()) {
      if (index >= firstNews && speaksAfterwards) this.#play.goLive();
      const end = entry.kind === 'asked' ? await this.#match(entry) : await this.#settle(entry);
      if (end !== undefined || isPressing(this.#going.news)) return end;
      this.#seen += 1;
    }
    return undefined;
  }

  /** The code asks under a key that an earlier attempt of the workflow has used for something else. */
  stranger(): DriveEnd | undefined {
    const { stranger } = this.#play;
    if (stranger === undefined) return undefined;
    const { kept, ask } = stranger;
    const recorded = { kind: 'asked', key: kept.key, step: kept.step } as const;
    return diverged(this.#going.deploymentId, this.#position + 1, recorded, { ...ask, key: kept.key });
  }

  async #settle({ key, result }: Extract<Entry, { kind: 'settled' }>): Promise<undefined> {
    if (this.rollbacks.has(key)) {
      this.rollbacks.set(key, result);
      return;
    }
    this.#play.settle(key, result);
    await this.#going.clock.drained();
  }

  async #match(recorded: AskedEntry): Promise<DriveEnd | undefined> {
    if (recorded.step === 'rollback') {
      this.rollbacks.set(recorded.key, undefined);
      return undefined;
    }
    this.#position += 1;
    const asked = this.#play.takeAsk() ?? (await this.#awaited());
    if (asked !== undefined && isSame(recorded, asked)) return undefined;
    const { deploymentId, stallMs, news } = this.#going;
    const stranger = this.stranger();
    if (stranger !== undefined) return stranger;
    if (asked === undefined && isPressing(news)) return undefined;
    return diverged(deploymentId, this.#position, recorded, asked ?? this.#play.end?.kind ?? { waitedMs: stallMs });
  }

  /** The code awaits something that is no step, before it asks for the next. */
  async #awaited(): Promise<Ask | undefined> {
    const { clock, bell, stallMs, news } = this.#going;
    const until = after(clock.now(), stallMs);
    for (;;) {
      await clock.drained();
      const asked = this.#play.takeAsk();
      const isOver = this.#play.end !== undefined || this.#play.stranger !== undefined || clock.now() >= until;
      if (asked !== undefined || isOver || isPressing(news)) return asked;
      await bell.wait(clock, until);
    }
  }
}

/** What waits came to, at the end of a history: the code hears of that for the first time. @returns the index of the first */
function newsFrom(entries: readonly Entry[]): number {
  const steps = new Set(entries.flatMap((entry) => (entry.kind === 'asked' && !isWait({ kind: entry.step }) ? [entry.key] : [])));
  return 1 + entries.findLastIndex((entry) => entry.kind === 'asked' || steps.has(entry.key));
}
