/**
 * One poll for all concurrency slots of a process. Slots that ask while a poll is under way share the next one, which begins after
 * they asked, so it finds all that was written before. What it finds is handed to the slots, each run to one of them.
 *
 * The log of a run alone decides a claim. The poll may see a reminder late, twice or not at all: another process claims the run
 * then, or a later poll does.
 */
import type { ExternalState } from '../../engine/external/fold.ts';
import { type DurationMs, type Instant, between, durationMs } from '../../engine/time.ts';
import type { Reminder } from '../../ports/external-runs.ts';
import type { Claim, RunClaimer } from './run-claimer.ts';
import type { BackendDeps } from './deps.ts';
import { PollFailures, isOutage } from './poll-failures.ts';

/** The fewest reminders that are read from each partition at once. */
const pageSize = 32;
/** Where none of a full page can be claimed, the next read of the same poll goes so much further. */
const pageGrowth = 4;
const maxPageSize = 2_048;
/** Reads of one poll. Each but the first follows a change that this process has made, or goes further. */
const maxReads = 8;
/** Each claim is a few requests, and a DynamoDB client has 50 sockets. */
const claimConcurrency = 24;
/**
 * After polls that found nothing, the next one waits, twice as long each time. The longest wait bounds what an idle process reads:
 * four units for a poll, 19,200 an hour.
 */
const initialBackoff = durationMs(50);
const maxBackoff = durationMs(750);

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
  /** ends the wait for the next poll */
  #wakeUpController = new AbortController();
  /** Reminders that are of no use until then: runs that another process has just changed. */
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

  /** This process has changed a run, so there may be something to claim. */
  wakeUp(): void {
    this.#emptyPolls = 0;
    this.#wakeUpController.abort();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#waitingSlots.length > 0) {
        // Slots of a worker ask one after the other in one turn of the event loop.
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

  /** An outage is told once, and no slot is to wait for its end. Anything else is the failure of these slots. */
  #rejectSlots(slots: readonly Slot[], error: unknown): void {
    const isReported = isOutage(error) && (this.#hasFailed || !this.#failures.recordFailure(error, this.#deps.clock.now()));
    this.#hasFailed = true;
    for (const slot of slots) {
      if (isReported) slot.resolve(undefined);
      else slot.reject(error);
    }
  }

  /** @returns whether something was changed that no slot was given: the next read may find what became due by it */
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
    // A run that is past its deadline is failed, not given: any slot's name will do.
    const [expired, queue] = partition(reminders, ({ endOfLife }) => endOfLife <= now);
    await forEachConcurrently(expired, async (reminder) => void (await attempt(reminder, firstSlot)));
    queue.sort(byPriority);
    await forEachConcurrently(open.splice(0), async (slot) => {
      try {
        for (let next = 0; ;) {
          const [reminder] = queue.splice(next, 1);
          if (reminder === undefined) return void open.push(slot);
          const given = await attempt(reminder, slot);
          if (typeof given === 'object') return slot.resolve(given);
          // Where other processes claim too, all of them try the next one in order.
          next = given === 'lost' ? Math.floor(this.#deps.random() * queue.length) : 0;
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

const waitAfter = (emptyPolls: number): DurationMs =>
  emptyPolls === 0 ? durationMs(0) : durationMs(Math.min(maxBackoff, initialBackoff * 2 ** Math.min(emptyPolls - 1, 10)));

/** Does the work on each, a few at once. */
async function forEachConcurrently<Item>(given: readonly Item[], work: (one: Item) => Promise<void>): Promise<void> {
  const remaining = given.values();
  await Promise.all(
    Array.from({ length: Math.min(given.length, claimConcurrency) }, async () => {
      for (const one of remaining) await work(one);
    }),
  );
}

const nameOf = ({ at, runId, nonce }: Reminder): string => `${at}#${runId}#${nonce}`;

/** A run may have an older reminder beside its own. */
const latestPerRun = (reminders: readonly Reminder[]): readonly Reminder[] => [
  ...new Map(reminders.map((reminder) => [reminder.runId, reminder])).values(),
];

const partition = <Item>(given: readonly Item[], predicate: (one: Item) => boolean): readonly [Item[], Item[]] => [
  given.filter(predicate),
  given.filter((one) => !predicate(one)),
];

/** New runs and those to be tried again first, then by the time since which they are due. */
const byPriority = (one: Reminder, other: Reminder): number =>
  Number(other.isPending) - Number(one.isPending) || one.availableAt - other.availableAt || one.createdAt - other.createdAt;
