/**
 * Readers of every run. A reader connects at any moment, reads an incomplete log from its cursor or from any earlier event,
 * disconnects and reconnects, also while it is still connected. Some readers wait for new events. A reader that resumes from
 * event n gets the same events again and misses none after n (invariant 8). Readers use their own random generator, so that
 * they do not change the simulation.
 */
import type { RunAddress } from '../../lib/engine/ids.ts';
import { type PublicEvent, publicEvents } from '../../lib/engine/log/public-event.ts';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { type RunUpdate, beginFollowing, followRun } from '../../lib/service/watching/follow-run.ts';
import { Prng } from './prng.ts';
import { runInvariant } from './violation.ts';
import type { VirtualTime } from './virtual-time.ts';

interface Reader {
  readonly run: RunAddress;
  /** the events that it has read, over all of its connections */
  readonly seen: string[];
}

/** A reader that resumes from any event instead of its cursor. */
const shareOfReturns = 0.5;
const shareOfStays = 0.05;

export class Readers {
  readonly #prng: Prng;
  readonly #time: VirtualTime;
  readonly #memory: MemoryPorts;
  readonly #readers = new Map<string, Reader>();
  readonly problems: unknown[] = [];
  /** events that a reader got a second time */
  seenAgain = 0;
  /** events that a waiting reader got */
  seenLive = 0;

  constructor(seed: number, time: VirtualTime, memory: MemoryPorts) {
    this.#prng = new Prng(seed + 1_000_003);
    this.#time = time;
    this.#memory = memory;
  }

  get events(): number {
    return [...this.#readers.values()].reduce((sum, { seen }) => sum + seen.length, 0);
  }

  committed(run: RunAddress): void {
    const reader = this.#readers.get(run.runId) ?? { run, seen: [] };
    this.#readers.set(run.runId, reader);
    if (!this.#prng.isLucky(0.3)) return;
    this.#time.in(this.#prng.whole(0, 5_000), () => {
      const reading = this.#prng.isLucky(shareOfStays)
        ? this.#stay(reader)
        : this.#read(reader, this.#torn(), this.#from(reader));
      reading.catch((thrown: unknown) => this.problems.push(thrown));
    });
  }

  async check(): Promise<void> {
    if (this.problems.length > 0) throw this.problems[0];
    for (const reader of this.#readers.values()) {
      const { run, seen } = reader;
      await this.#read(reader, this.#memory.log, this.#prng.whole(0, seen.length), Infinity);
      const head = await this.#memory.log.head(run);
      const commits = head === undefined ? [] : [head.commit, ...(await this.#memory.log.commitsAfter(run, head.commit.number))];
      const events = head === undefined ? [] : commits.flatMap((commit) => publicEvents(head, commit));
      const all = events.map((event) => JSON.stringify(event));
      runInvariant(8, JSON.stringify(seen) === JSON.stringify(all), `a reader of ${run.runId} has other events than its log`);
    }
  }

  /** @returns the event after which it continues */
  #from({ seen }: Reader): number {
    return this.#prng.isLucky(shareOfReturns) ? this.#prng.whole(0, seen.length) : seen.length;
  }

  /** Reads all or some of the available events and disconnects. */
  async #read(reader: Reader, log: RunLog, after: number, most = this.#prng.whole(1, 12)): Promise<void> {
    const { run } = reader;
    const followed = await beginFollowing({ log }, run);
    runInvariant(8, followed !== undefined, `${run.runId} has commits but was not found`);
    const left = Math.min(most, followed.state.nextEventId - 1 - after);
    if (left <= 0) return;
    const news = followRun({ log, streams: this.#memory.streams, clock: this.#memory.clock }, followed, after);
    for (let at = after; at < after + left; at += 1) {
      const value = await this.#nextInLog(news, at);
      runInvariant(
        8,
        value?.kind === 'event',
        () => `after event ${at} of ${run.runId} a reader was given nothing, and there is more`,
      );
      this.#see(reader, at, value.event);
    }
    await news.return();
  }

  /** The next update that does not only follow from the log. @param at the previous event, whose id a derived event has */
  async #nextInLog(news: AsyncGenerator<RunUpdate, void, undefined>, at: number): Promise<RunUpdate | undefined> {
    const derived = new Set<string>();
    for (;;) {
      const { value } = await news.next();
      if (value?.kind !== 'derived') return value ?? undefined;
      const { eventId, type, payload } = value.event;
      runInvariant(8, eventId === at, () => `after event ${at} a reader got ${type} with the id ${eventId}`);
      const name = JSON.stringify([type, payload['nodeId'], payload['iteration'], payload['attempt']]);
      runInvariant(8, !derived.has(name), () => `after event ${at} a reader got ${name} twice`);
      derived.add(name);
    }
  }

  /** Waits for new events during some empty reads and disconnects; the run and other readers continue meanwhile. */
  async #stay(reader: Reader): Promise<void> {
    const log = this.#torn();
    const clock = {
      now: () => this.#time.now,
      sleep: (wait: number) => new Promise<void>((resolve) => this.#time.in(wait, resolve)),
    };
    const followed = await beginFollowing({ log }, reader.run);
    runInvariant(8, followed !== undefined, `${reader.run.runId} has commits but was not found`);
    let at = this.#from(reader);
    const known = followed.state.nextEventId - 1;
    const news = followRun({ log, streams: this.#memory.streams, clock }, followed, at);
    for (let looks = this.#prng.whole(1, 8); looks > 0;) {
      const value = await this.#nextInLog(news, at);
      const isAllGiven = at >= followed.state.nextEventId - 1;
      runInvariant(
        8,
        value?.kind === 'event' || isAllGiven,
        () => `a reader of ${reader.run.runId} waits behind event ${at}, and more is read`,
      );
      if (value === undefined) break;
      if (value.kind === 'idle') looks -= 1;
      if (value.kind !== 'event') continue;
      this.#see(reader, at, value.event);
      at += 1;
      if (at > known) this.seenLive += 1;
    }
    await news.return();
  }

  /** @param at the previous event */
  #see({ seen }: Reader, at: number, event: PublicEvent): void {
    runInvariant(8, event.eventId === at + 1, () => `after event ${at} a reader got event ${event.eventId}`);
    const text = JSON.stringify(event);
    const before = seen[at];
    if (before === undefined) seen.push(text);
    else this.seenAgain += 1;
    runInvariant(8, before === undefined || before === text, () => `event ${event.eventId} changed from ${before} to ${text}`);
  }

  #torn(): RunLog {
    return new Proxy(this.#memory.log, {
      get: (target, name) => {
        const held: unknown = Reflect.get(target, name);
        const bound: unknown = typeof held === 'function' ? held.bind(target) : held;
        if (name !== 'commitsAfter' || !this.#prng.isLucky(0.5)) return bound;
        const torn: RunLog['commitsAfter'] = async (run, ...range) => {
          const commits = await target.commitsAfter(run, ...range);
          return commits.length > 1 ? commits.toSpliced(this.#prng.whole(0, commits.length - 2), 1) : commits;
        };
        return torn;
      },
    });
  }
}
