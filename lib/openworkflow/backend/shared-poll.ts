/**
 * One poll for all concurrency slots of a process. Slots that ask while a poll is under way share the next one, which begins after
 * they asked, so it finds all that was written before. What it finds is handed to the slots, each run to one of them.
 *
 * The log of a run alone decides a claim. The poll may see a reminder late, twice or not at all: another process claims the run
 * then, or a later poll does.
 */
import type { PolledState } from '../../engine/polled/fold.ts';
import { type DurationMs, type Instant, between, durationMs } from '../../engine/time.ts';
import type { Reminder } from '../../ports/polled-runs.ts';
import type { Claim, Claims } from './claim-run.ts';
import type { BackendParts } from './parts.ts';
import { PollFailures, isOutage } from './poll-failures.ts';

/** The fewest reminders that are read from each partition at once. */
const pageSize = 32;
/** Where none of a full page can be claimed, the next read of the same poll goes so much further. */
const pageGrowth = 4;
const largestPage = 2_048;
/** Reads of one poll. Each but the first follows a change that this process has made, or goes further. */
const mostReads = 8;
/** Each claim is a few requests, and a DynamoDB client has 50 sockets. */
const claimsAtOnce = 24;
/**
 * After polls that found nothing, the next one waits, twice as long each time. The longest wait bounds what an idle process reads:
 * four units for a poll, 19,200 an hour.
 */
const firstWait = durationMs(50);
const longestWait = durationMs(750);

interface Slot {
  readonly claim: Claim;
  readonly give: (state: PolledState | undefined) => void;
  readonly fail: (error: unknown) => void;
}

export class SharedPoll {
  readonly #parts: BackendParts;
  readonly #namespaceId: string;
  readonly #claims: Claims;
  readonly #failures: PollFailures;
  #asking: Slot[] = [];
  #isRunning = false;
  #emptyPolls = 0;
  #hasFailed = false;
  #lastPollAt: Instant | undefined;
  /** ends the wait for the next poll */
  #wake = new AbortController();
  /** Reminders that are of no use until then: runs that another process has just changed. */
  #resting = new Map<string, Instant>();

  constructor(parts: BackendParts, namespaceId: string, claims: Claims) {
    this.#parts = parts;
    this.#namespaceId = namespaceId;
    this.#claims = claims;
    this.#failures = new PollFailures(parts.warn);
  }

  /** @returns undefined where nothing is due */
  async claim(claim: Claim): Promise<PolledState | undefined> {
    if (this.#failures.isWaiting(this.#parts.clock.now())) return undefined;
    return new Promise((give, fail) => {
      this.#asking.push({ claim, give, fail });
      void this.#run();
    });
  }

  /** This process has changed a run, so there may be something to claim. */
  expectWork(): void {
    this.#emptyPolls = 0;
    this.#wake.abort();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#asking.length > 0) {
        // Slots of a worker ask one after the other in one turn of the event loop.
        await this.#untilNextPoll();
        const slots = this.#asking;
        this.#asking = [];
        await this.#poll(slots);
      }
    } finally {
      this.#isRunning = false;
    }
  }

  async #untilNextPoll(): Promise<void> {
    const { clock, pause } = this.#parts;
    const wait = waitAfter(this.#emptyPolls);
    const passed = this.#lastPollAt === undefined ? wait : between(this.#lastPollAt, clock.now());
    if (passed < wait) {
      this.#wake = new AbortController();
      await pause(durationMs(wait - passed), this.#wake.signal);
    }
    this.#lastPollAt = clock.now();
  }

  async #poll(slots: Slot[]): Promise<void> {
    const open = [...slots];
    const seen = new Set<string>();
    let isOfUse = false;
    this.#hasFailed = false;
    try {
      let limit = Math.max(pageSize, open.length);
      for (let read = 0; read < mostReads && open.length > 0; read += 1) {
        const due = await this.#parts.store.reminders(this.#namespaceId, this.#parts.clock.now(), limit);
        this.#forgetRests(due);
        const fresh = due.filter((reminder) => !seen.has(nameOf(reminder)) && !this.#resting.has(nameOf(reminder)));
        const hasChanged = await this.#handOut(oneForEachRun(fresh), seen, open);
        isOfUse ||= hasChanged || open.length < slots.length;
        const isMore = due.length >= limit && limit < largestPage;
        if (!hasChanged && !isMore) break;
        if (!hasChanged) limit = Math.min(limit * pageGrowth, largestPage);
      }
      this.#emptyPolls = isOfUse ? 0 : this.#emptyPolls + 1;
      for (const slot of open) slot.give(undefined);
      if (!this.#hasFailed) this.#failures.worked(this.#parts.clock.now());
    } catch (error) {
      this.#fail(open, error);
    }
  }

  /** An outage is told once, and no slot is to wait for its end. Anything else is the failure of these slots. */
  #fail(slots: readonly Slot[], error: unknown): void {
    const isTold = isOutage(error) && (this.#hasFailed || !this.#failures.failed(error, this.#parts.clock.now()));
    this.#hasFailed = true;
    for (const slot of slots) {
      if (isTold) slot.give(undefined);
      else slot.fail(error);
    }
  }

  /** @returns whether something was changed that no slot was given: the next read may find what became due by it */
  async #handOut(reminders: readonly Reminder[], seen: Set<string>, open: Slot[]): Promise<boolean> {
    const now = this.#parts.clock.now();
    let hasChanged = false;
    const attempt = async (reminder: Reminder, slot: Slot): Promise<PolledState | 'lost' | undefined> => {
      seen.add(nameOf(reminder));
      const outcome = await this.#claims.claim(slot.claim, reminder);
      if (outcome.kind === 'claimed') return outcome.state;
      if (outcome.kind === 'changed') hasChanged = true;
      if (outcome.kind === 'lost' && outcome.restUntil !== undefined) this.#resting.set(nameOf(reminder), outcome.restUntil);
      return outcome.kind === 'lost' ? 'lost' : undefined;
    };
    const [asker] = open;
    if (asker === undefined) return false;
    // A run that is past its deadline is failed, not given: any slot's name will do.
    const [expired, queue] = split(reminders, ({ endOfLife }) => endOfLife <= now);
    await inLanes(expired, async (reminder) => void (await attempt(reminder, asker)));
    queue.sort(inOrder);
    await inLanes(open.splice(0), async (slot) => {
      try {
        for (let next = 0; ;) {
          const [reminder] = queue.splice(next, 1);
          if (reminder === undefined) return void open.push(slot);
          const given = await attempt(reminder, slot);
          if (typeof given === 'object') return slot.give(given);
          // Where other processes claim too, all of them try the next one in order.
          next = given === 'lost' ? Math.floor(this.#parts.chance() * queue.length) : 0;
        }
      } catch (error) {
        this.#fail([slot], error);
      }
    });
    return hasChanged;
  }

  #forgetRests(due: readonly Reminder[]): void {
    const now = this.#parts.clock.now();
    const there = new Set(due.map(nameOf));
    for (const [name, until] of this.#resting) if (until <= now || !there.has(name)) this.#resting.delete(name);
  }
}

const waitAfter = (emptyPolls: number): DurationMs =>
  emptyPolls === 0 ? durationMs(0) : durationMs(Math.min(longestWait, firstWait * 2 ** Math.min(emptyPolls - 1, 10)));

/** Does the work on each, a few at once. */
async function inLanes<Given>(given: readonly Given[], work: (one: Given) => Promise<void>): Promise<void> {
  const left = given.values();
  await Promise.all(
    Array.from({ length: Math.min(given.length, claimsAtOnce) }, async () => {
      for (const one of left) await work(one);
    }),
  );
}

const nameOf = ({ at, runId, nonce }: Reminder): string => `${at}#${runId}#${nonce}`;

/** A run may have an older reminder beside its own. */
const oneForEachRun = (reminders: readonly Reminder[]): readonly Reminder[] => [
  ...new Map(reminders.map((reminder) => [reminder.runId, reminder])).values(),
];

const split = <Given>(given: readonly Given[], isFirst: (one: Given) => boolean): readonly [Given[], Given[]] => [
  given.filter(isFirst),
  given.filter((one) => !isFirst(one)),
];

/** New runs and those to be tried again first, then by the time since which they are due. */
const inOrder = (one: Reminder, other: Reminder): number =>
  Number(other.isPending) - Number(one.isPending) || one.availableAt - other.availableAt || one.createdAt - other.createdAt;
