/** Finds a run that is due and gives it to the worker. On the way it fails what is past its deadline and mends what was left undone. */
import { Unreadable } from '../../codec/unreadable.ts';
import { decideClaim } from '../../engine/polled/decide.ts';
import type { PolledState } from '../../engine/polled/fold.ts';
import { type DurationMs, after, days, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { PolledAddress, Reminder } from '../../ports/polled-runs.ts';
import type { Duties } from './duties.ts';
import type { Ledgers } from './ledgers.ts';
import type { BackendParts } from './parts.ts';

/** Of the reminders that are due so many are read from each partition at once. */
const pageSize = 32;
/** Whoever has just changed the run may still be writing its entry, or putting its reminders right. */
const restful = seconds(5);
const firstDeferral = minutes(1);
const longestDeferral = days(1);

export interface Claim {
  readonly namespaceId: string;
  readonly workerId: string;
  readonly lease: DurationMs;
}

export class Claims {
  readonly #parts: BackendParts;
  readonly #ledgers: Ledgers;
  readonly #duties: Duties;
  /** Slots of one worker ask at the same time: they do not go for the same run. */
  readonly #inHand = new Set<string>();

  constructor(parts: BackendParts, ledgers: Ledgers, duties: Duties) {
    this.#parts = parts;
    this.#ledgers = ledgers;
    this.#duties = duties;
  }

  /** @returns undefined where nothing is due */
  async claim(claim: Claim): Promise<PolledState | undefined> {
    const { store, clock } = this.#parts;
    const seen = new Set<string>();
    for (;;) {
      const due = await store.reminders(claim.namespaceId, clock.now(), pageSize);
      const unseen = due.filter((reminder) => !seen.has(nameOf(reminder)));
      if (unseen.length === 0) return undefined;
      for (const reminder of unseen) seen.add(nameOf(reminder));
      const claimed = await this.#claimOneOf(unseen, claim);
      if (claimed !== undefined) return claimed;
    }
  }

  async #claimOneOf(reminders: readonly Reminder[], claim: Claim): Promise<PolledState | undefined> {
    const now = this.#parts.clock.now();
    for (const reminder of reminders.filter(({ endOfLife }) => endOfLife <= now)) await this.#try(reminder, claim);
    const rest = reminders.filter(({ endOfLife }) => endOfLife > now).toSorted(inOrder);
    for (let next = 0; ;) {
      const [reminder] = rest.splice(next, 1);
      if (reminder === undefined) return undefined;
      const outcome = await this.#try(reminder, claim);
      if (typeof outcome === 'object') return outcome;
      // Where others claim too, the next one in order is what they all go for.
      next = outcome === 'lost' ? Math.floor(this.#parts.chance() * rest.length) : 0;
    }
  }

  async #try(reminder: Reminder, claim: Claim): Promise<PolledState | 'lost' | 'nothing'> {
    const run = { namespaceId: claim.namespaceId, runId: reminder.runId };
    if (this.#inHand.has(reminder.runId)) return 'lost';
    this.#inHand.add(reminder.runId);
    try {
      return await this.#claimOne(run, reminder, claim);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      // One run that this version cannot read keeps nobody from the others.
      await this.#defer(run, reminder);
      return 'nothing';
    } finally {
      this.#inHand.delete(reminder.runId);
    }
  }

  async #claimOne(run: PolledAddress, reminder: Reminder, { workerId, lease }: Claim): Promise<PolledState | 'lost' | 'nothing'> {
    const change = await this.#ledgers.change(run, (state, now) => decideClaim(state, workerId, lease, now));
    if (change.kind === 'committed') return change.fact.type === 'claimed' ? change.state : 'nothing';
    const { state } = change;
    const now = this.#parts.clock.now();
    // The entry that it was put for is not there: it is on its way, and after a while it may never come.
    if (state === undefined || state.last < reminder.number) {
      const dueAt = instant(Math.max(reminder.at, reminder.createdAt));
      if (after(dueAt, restful) <= now) await this.#defer(run, reminder);
      return 'nothing';
    }
    const isCurrent = state.look !== undefined && state.look.nonce === reminder.nonce && state.look.at === reminder.at;
    if (isCurrent || after(state.run.updatedAt, restful) > now) return 'lost';
    await this.#duties.settle(run, state, reminder, now);
    return 'nothing';
  }

  async #defer(run: PolledAddress, reminder: Reminder): Promise<void> {
    const { store, clock } = this.#parts;
    const wait = durationMs(Math.min(firstDeferral * 2 ** Math.min(reminder.deferrals, 20), longestDeferral));
    const deferred = { ...reminder, at: after(clock.now(), wait), deferrals: reminder.deferrals + 1 };
    await store.remind(run.namespaceId, deferred, instant(Math.max(deferred.at, reminder.endOfLife) + longestDeferral));
    await store.dropReminder(run.namespaceId, reminder);
  }
}

const nameOf = ({ at, runId, nonce }: Reminder): string => `${at}#${runId}#${nonce}`;

/** New runs and those to be tried again first, then by the time since which they are due. */
const inOrder = (one: Reminder, other: Reminder): number =>
  Number(other.isPending) - Number(one.isPending) || one.availableAt - other.availableAt || one.createdAt - other.createdAt;
