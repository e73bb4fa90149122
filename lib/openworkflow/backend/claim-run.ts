/** Claims the run of a reminder that is due. Where it cannot be claimed, it is failed at its deadline, or what was left undone is done. */
import { Unreadable } from '../../codec/unreadable.ts';
import { decideClaim } from '../../engine/polled/decide.ts';
import type { PolledState } from '../../engine/polled/fold.ts';
import { type DurationMs, type Instant, after, days, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { PolledAddress, Reminder } from '../../ports/polled-runs.ts';
import type { Duties } from './duties.ts';
import type { Ledgers } from './ledgers.ts';
import type { BackendParts } from './parts.ts';

/** The process that has just changed the run may still be writing its entry, or replacing its reminders. */
const restful = seconds(5);
const firstDeferral = minutes(1);
const longestDeferral = days(1);

export interface Claim {
  readonly workerId: string;
  readonly lease: DurationMs;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly state: PolledState }
  /** another worker has the run; `restUntil`: when the reminder, which its owner will drop, should be looked at again */
  | { readonly kind: 'lost'; readonly restUntil: Instant | undefined }
  /** the run or its reminders were put right */
  | { readonly kind: 'changed' }
  /** the entry that the reminder belongs to is on its way */
  | { readonly kind: 'early' };

const changed: ClaimOutcome = { kind: 'changed' };

export class Claims {
  readonly #parts: BackendParts;
  readonly #namespaceId: string;
  readonly #ledgers: Ledgers;
  readonly #duties: Duties;

  constructor(parts: BackendParts, namespaceId: string, ledgers: Ledgers, duties: Duties) {
    this.#parts = parts;
    this.#namespaceId = namespaceId;
    this.#ledgers = ledgers;
    this.#duties = duties;
  }

  async claim(claim: Claim, reminder: Reminder): Promise<ClaimOutcome> {
    const run = { namespaceId: this.#namespaceId, runId: reminder.runId };
    try {
      return await this.#claim(run, reminder, claim);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      // A run that this version cannot read does not block the others.
      await this.#defer(run, reminder);
      return changed;
    }
  }

  async #claim(run: PolledAddress, reminder: Reminder, { workerId, lease }: Claim): Promise<ClaimOutcome> {
    const change = await this.#ledgers.change(run, (state, now) => decideClaim(state, workerId, lease, now));
    if (change.kind === 'committed') return change.fact.type === 'claimed' ? { kind: 'claimed', state: change.state } : changed;
    const { state } = change;
    const now = this.#parts.clock.now();
    // The entry that it was put for is not there: it is on its way, and after a while it may never come.
    if (state === undefined || state.last < reminder.number) {
      const dueAt = instant(Math.max(reminder.at, reminder.createdAt));
      if (after(dueAt, restful) > now) return { kind: 'early' };
      await this.#defer(run, reminder);
      return changed;
    }
    const isCurrent = state.look !== undefined && state.look.nonce === reminder.nonce && state.look.at === reminder.at;
    if (isCurrent) return { kind: 'lost', restUntil: undefined };
    const restUntil = after(state.run.updatedAt, restful);
    if (restUntil > now) return { kind: 'lost', restUntil };
    await this.#duties.settle(run, state, reminder, now);
    return changed;
  }

  async #defer(run: PolledAddress, reminder: Reminder): Promise<void> {
    const { store, clock } = this.#parts;
    const wait = durationMs(Math.min(firstDeferral * 2 ** Math.min(reminder.deferrals, 20), longestDeferral));
    const deferred = { ...reminder, at: after(clock.now(), wait), deferrals: reminder.deferrals + 1 };
    await store.remind(run.namespaceId, deferred, instant(Math.max(deferred.at, reminder.endOfLife) + longestDeferral));
    await store.dropReminder(run.namespaceId, reminder);
  }
}
