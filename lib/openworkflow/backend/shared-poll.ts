/**
 * One poll for all concurrency slots of a process. Slots that ask during a poll share the next one. It begins after their request,
 * so it finds everything that was written before. Each run that it finds goes to one slot.
 *
 * Only the log of a run decides a claim. The poll may see a reminder late, twice or not at all: then another process or a later
 * poll claims the run.
 */
import { type Backoff, backoffMs } from '../../base/retry.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import { type DurationMs, type Instant, between, durationMs } from '../../engine/time.ts';
import type { Reminder } from '../../ports/external-runs.ts';
import type { Claim, RunClaimer } from './run-claimer.ts';
import type { BackendDeps } from './deps.ts';
import { PollFailures, isOutage } from './poll-failures.ts';

/** The minimum number of reminders that are read from each partition at once. */
const pageSize = 32;
/** Where no run of a full page can be claimed, the next read of the same poll is this much larger. */
const pageGrowth = 4;
const maxPageSize = 2_048;
/** Maximum reads of one poll. Each further read follows a change by this process, or reads more. */
const maxReads = 8;
/** Each claim is a few requests, and a DynamoDB client has 50 sockets. */
const claimConcurrency = 24;
/**
 * The wait after empty polls doubles each time. The maximum bounds the reads of an idle process: four units for a poll, 19,200 an
 * hour.
 */
const emptyPollBackoff: Backoff = { baseMs: 50, maxMs: 750 };

interface Slot {
  readonly claim: Claim;
  readonly resolve: (state: ExternalState | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class SharedPoll {
  readonly #deps: BackendDeps;
  readonly #namespaceId: string;
  readonly #claimer: RunClaimer;
  readonly #failures: PollFailures;
  #waitingSlots: Slot[] = [];
  #isRunning = false;
  #emptyPolls = 0;
  #hasFailed = false;
  #lastPollAt: Instant | undefined;
  /** aborts the wait for the next poll */
  #wakeUpController = new AbortController();
  /** Reminders to be ignored until then: another process has just changed their runs. */
  #deferredReminders = new Map<string, Instant>();

  constructor(deps: BackendDeps, namespaceId: string, claimer: RunClaimer) {
    this.#deps = deps;
    this.#namespaceId = namespaceId;
    this.#claimer = claimer;
    this.#failures = new PollFailures(deps.warn);
  }

  /** @returns undefined where nothing is due */
  async claim(claim: Claim): Promise<ExternalState | undefined> {
    if (this.#failures.isBackingOff(this.#deps.clock.now())) return undefined;
    return new Promise((resolve, reject) => {
      this.#waitingSlots.push({ claim, resolve, reject });
      void this.#run();
    });
  }

  /** This process has changed a run, so there may be a run to claim. */
  wakeUp(): void {
    this.#emptyPolls = 0;
    this.#wakeUpController.abort();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#waitingSlots.length > 0) {
        // The slots of a worker ask one after the other within one turn of the event loop.
        await this.#untilNextPoll();
        const slots = this.#waitingSlots;
        this.#waitingSlots = [];
        await this.#poll(slots);
      }
    } finally {
      this.#isRunning = false;
    }
  }

  async #untilNextPoll(): Promise<void> {
    const { clock, sleep } = this.#deps;
    const wait = waitAfter(this.#emptyPolls);
    const elapsed = this.#lastPollAt === undefined ? wait : between(this.#lastPollAt, clock.now());
    if (elapsed < wait) {
      this.#wakeUpController = new AbortController();
      await sleep(durationMs(wait - elapsed), this.#wakeUpController.signal);
    }
    this.#lastPollAt = clock.now();
  }

  async #poll(slots: Slot[]): Promise<void> {
    const open = [...slots];
    const seen = new Set<string>();
    let hasProgress = false;
    this.#hasFailed = false;
    try {
      let limit = Math.max(pageSize, open.length);
      for (let read = 0; read < maxReads && open.length > 0; read += 1) {
        const due = await this.#deps.store.reminders(this.#namespaceId, this.#deps.clock.now(), limit);
        this.#dropExpiredDeferrals(due);
        const candidates = due.filter(
          (reminder) => !seen.has(nameOf(reminder)) && !this.#deferredReminders.has(nameOf(reminder)),
        );
        const hasChanged = await this.#assign(latestPerRun(candidates), seen, open);
        hasProgress ||= hasChanged || open.length < slots.length;
        const isMore = due.length >= limit && limit < maxPageSize;
        if (!hasChanged && !isMore) break;
        if (!hasChanged) limit = Math.min(limit * pageGrowth, maxPageSize);
      }
      this.#emptyPolls = hasProgress ? 0 : this.#emptyPolls + 1;
      for (const slot of open) slot.resolve(undefined);
      if (!this.#hasFailed) this.#failures.recordSuccess(this.#deps.clock.now());
    } catch (error) {
      this.#rejectSlots(open, error);
    }
  }

  /** Reports an outage once; slots do not wait for its end. Any other error rejects these slots. */
  #rejectSlots(slots: readonly Slot[], error: unknown): void {
    const isReported = isOutage(error) && (this.#hasFailed || !this.#failures.recordFailure(error, this.#deps.clock.now()));
    this.#hasFailed = true;
    for (const slot of slots) {
      if (isReported) slot.resolve(undefined);
      else slot.reject(error);
    }
  }

  /** @returns whether something changed that no slot got: the next read may find what became due by it */
  async #assign(reminders: readonly Reminder[], seen: Set<string>, open: Slot[]): Promise<boolean> {
    const now = this.#deps.clock.now();
    let hasChanged = false;
    const attempt = async (reminder: Reminder, slot: Slot): Promise<ExternalState | 'lost' | undefined> => {
      seen.add(nameOf(reminder));
      const outcome = await this.#claimer.claim(slot.claim, reminder);
      if (outcome.kind === 'claimed') return outcome.state;
      if (outcome.kind === 'changed') hasChanged = true;
      if (outcome.kind === 'lost' && outcome.retryAt !== undefined)
        this.#deferredReminders.set(nameOf(reminder), outcome.retryAt);
      return outcome.kind === 'lost' ? 'lost' : undefined;
    };
    const [firstSlot] = open;
    if (firstSlot === undefined) return false;
    // A run past its deadline is failed, not claimed, so any slot may do it.
    const [expired, queue] = partition(reminders, ({ endOfLife }) => endOfLife <= now);
    await forEachConcurrently(expired, async (reminder) => void (await attempt(reminder, firstSlot)));
    queue.sort(byPriority);
    await forEachConcurrently(open.splice(0), async (slot) => {
      try {
        for (let next = 0; ;) {
          const [reminder] = queue.splice(next, 1);
          if (reminder === undefined) return void open.push(slot);
          const claimed = await attempt(reminder, slot);
          if (typeof claimed === 'object') return slot.resolve(claimed);
          // Other processes claim too: continue at a random reminder, because all would try the same next one.
          next = claimed === 'lost' ? Math.floor(this.#deps.random() * queue.length) : 0;
        }
      } catch (error) {
        this.#rejectSlots([slot], error);
      }
    });
    return hasChanged;
  }

  #dropExpiredDeferrals(due: readonly Reminder[]): void {
    const now = this.#deps.clock.now();
    const dueNames = new Set(due.map(nameOf));
    for (const [name, until] of this.#deferredReminders)
      if (until <= now || !dueNames.has(name)) this.#deferredReminders.delete(name);
  }
}

const waitAfter = (emptyPolls: number): DurationMs => durationMs(emptyPolls === 0 ? 0 : backoffMs(emptyPollBackoff, emptyPolls));

/** Processes the items with bounded concurrency. */
async function forEachConcurrently<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const remaining = items.values();
  await Promise.all(
    Array.from({ length: Math.min(items.length, claimConcurrency) }, async () => {
      for (const item of remaining) await work(item);
    }),
  );
}

const nameOf = ({ at, runId, nonce }: Reminder): string => `${at}#${runId}#${nonce}`;

/** A run may still have an older reminder; the last one wins. */
const latestPerRun = (reminders: readonly Reminder[]): readonly Reminder[] => [
  ...new Map(reminders.map((reminder) => [reminder.runId, reminder])).values(),
];

const partition = <Item>(items: readonly Item[], predicate: (item: Item) => boolean): readonly [Item[], Item[]] => [
  items.filter(predicate),
  items.filter((item) => !predicate(item)),
];

/** New and retrying runs first, then those that are due for longest. */
const byPriority = (one: Reminder, other: Reminder): number =>
  Number(other.isPending) - Number(one.isPending) || one.availableAt - other.availableAt || one.createdAt - other.createdAt;
