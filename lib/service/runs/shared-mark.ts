/**
 * Marks the runs of several starts for the sweep's first check with one due entry. Each start awaits the entry before it writes its head.
 * A start that is slow delays the others by a second at most, and one that is refused does not delay them.
 */
import type { RunAddress } from '../../engine/ids.ts';
import { minuteOf } from '../../engine/log/heartbeat-timeout.ts';
import { type Instant, seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type Arrival, createArrivals } from './arrivals.ts';

/** How long the first start of a group waits for the others. Their reservations take milliseconds, unless the store refuses requests. */
const longestWait = seconds(1);

interface Mark {
  readonly run: RunAddress;
  readonly minute: number;
}

export interface MarkMember {
  readonly marksDue: (run: RunAddress, at: Instant) => Promise<void>;
  /** The start has ended, and marks nothing more. */
  readonly leave: () => void;
}

export class SharedMark {
  readonly #deps: Pick<Deps, 'index' | 'clock'>;
  readonly #gathered: Mark[] = [];
  /** whether the shared entries are stored; if not, each start writes its own */
  readonly #written = Promise.withResolvers<boolean>();
  readonly #closing = new AbortController();
  readonly #nextArrival: () => Arrival;

  /** @param count how many starts join */
  constructor(deps: Pick<Deps, 'index' | 'clock'>, count: number) {
    this.#deps = deps;
    this.#nextArrival = createArrivals(count, () => this.#close());
    // A start that has failed awaits it no longer.
    this.#written.promise.catch(() => undefined);
  }

  join(): MarkMember {
    const { isAwaited, arrive } = this.#nextArrival();
    const marksDue = async (run: RunAddress, at: Instant): Promise<void> => {
      const mark = { run, minute: minuteOf(at) };
      // A start that comes late, and one that marks its run again after a pause, have entries of their own.
      const isShared = isAwaited() && !this.#closing.signal.aborted;
      if (isShared) {
        this.#gathered.push(mark);
        if (this.#gathered.length === 1) this.#limitWait();
        arrive();
      }
      if (!isShared || !(await this.#written.promise)) await this.#deps.index.markDue(mark);
    };
    return { marksDue, leave: arrive };
  }

  #limitWait(): void {
    void this.#deps.clock.sleep(longestWait, this.#closing.signal).then(() => this.#close());
  }

  #close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#write().then(this.#written.resolve, this.#written.reject);
  }

  /** @returns whether all entries are stored */
  async #write(): Promise<boolean> {
    try {
      const byScope = Map.groupBy(this.#gathered, ({ run }) => JSON.stringify([run.projectId, run.environment]));
      await Promise.all([...byScope.values()].map((marks) => this.#writeEntry(marks)));
      return true;
    } catch (error) {
      if (error instanceof Unavailable) return false;
      throw error;
    }
  }

  async #writeEntry(marks: readonly Mark[]): Promise<void> {
    const { index } = this.#deps;
    const [first] = marks;
    if (first === undefined) return;
    if (marks.length === 1) return index.markDue(first);
    const { projectId, environment } = first.run;
    // A start of the minute before is checked one minute later, and an entry that is earlier could be passed already.
    const minute = Math.max(...marks.map((mark) => mark.minute));
    const runIds = [...new Set(marks.map(({ run }) => run.runId))];
    await index.markDueTogether({ scope: { projectId, environment }, runIds, minute });
  }
}
