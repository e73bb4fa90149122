/**
 * Readers of every run: each comes at any moment, reads a torn log from where it was, goes away in the middle, and comes back.
 * What one has seen stays true, and who resumes from n misses nothing after n (invariant 8). Their chance is their own, so
 * that the world goes on the same whether or not anybody reads.
 */
import type { RunAddress } from '../../lib/engine/ids.ts';
import { type PublicEvent, publicEvents } from '../../lib/engine/log/public-event.ts';
import type { MemoryWorld } from '../../lib/memory/memory-world.ts';
import type { RunLog } from '../../lib/ports/run-log.ts';
import { beginFollowing, followRun } from '../../lib/service/follow-run.ts';
import { Prng } from './prng.ts';
import { runInvariant } from './violation.ts';
import type { VirtualTime } from './virtual-time.ts';

interface Reader {
  readonly run: RunAddress;
  /** what it has seen, as it saw it */
  readonly seen: string[];
}

export class Readers {
  readonly #prng: Prng;
  readonly #time: VirtualTime;
  readonly #memory: MemoryWorld;
  readonly #readers = new Map<string, Reader>();
  readonly problems: unknown[] = [];

  constructor(seed: number, time: VirtualTime, memory: MemoryWorld) {
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
      this.#read(reader, this.#torn()).catch((trouble: unknown) => this.problems.push(trouble));
    });
  }

  async judge(): Promise<void> {
    if (this.problems.length > 0) throw this.problems[0];
    for (const reader of this.#readers.values()) {
      const { run, seen } = reader;
      await this.#read(reader, this.#memory.log, Infinity);
      const head = await this.#memory.log.head(run);
      const commits = head === undefined ? [] : [head.commit, ...(await this.#memory.log.commitsAfter(run, head.commit.number))];
      const events = head === undefined ? [] : commits.flatMap((commit) => publicEvents(head, commit));
      const all = events.map((event) => JSON.stringify(event));
      runInvariant(8, JSON.stringify(seen) === JSON.stringify(all), `a reader of ${run.runId} has not seen what its log says`);
    }
  }

  /** Reads what there is, or less, and goes away. */
  async #read({ run, seen }: Reader, log: RunLog, most = this.#prng.whole(1, 12)): Promise<void> {
    const followed = await beginFollowing({ log }, run);
    runInvariant(8, followed !== undefined, `${run.runId} was committed to and is not there`);
    const left = Math.min(most, followed.state.nextEventId - 1 - seen.length);
    if (left <= 0) return;
    const news = followRun({ log, streams: this.#memory.streams, clock: this.#memory.clock }, followed, seen.length);
    for (let count = 0; count < left; count += 1) {
      const { value } = await news.next();
      if (value?.kind !== 'event') break;
      this.#see(seen, value.event);
    }
    await news.return();
  }

  #see(seen: string[], event: PublicEvent): void {
    runInvariant(8, event.eventId === seen.length + 1, `after event ${seen.length} a reader was given ${event.eventId}`);
    seen.push(JSON.stringify(event));
  }

  #torn(): RunLog {
    return new Proxy(this.#memory.log, {
      get: (target, name) => {
        const held: unknown = Reflect.get(target, name);
        const bound: unknown = typeof held === 'function' ? held.bind(target) : held;
        if (name !== 'commitsAfter' || !this.#prng.isLucky(0.5)) return bound;
        const torn: RunLog['commitsAfter'] = async (run, from) => {
          const commits = await target.commitsAfter(run, from);
          return commits.length > 1 ? commits.toSpliced(this.#prng.whole(0, commits.length - 2), 1) : commits;
        };
        return torn;
      },
    });
  }
}
