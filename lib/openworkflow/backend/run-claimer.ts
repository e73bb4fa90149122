/** Claims the run of a due reminder. A run past its deadline is failed instead, and missing effects of an entry are done. */
import { backoffMs } from '../../base/retry.ts';
import { Unreadable } from '../../codec/unreadable.ts';
import { decideClaim } from '../../engine/external/decide.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import { type DurationMs, type Instant, after, days, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import type { ExternalRunAddress, Reminder } from '../../ports/external-runs.ts';
import type { EntryEffects } from './entry-effects.ts';
import type { RunLogs } from './run-logs.ts';
import type { BackendDeps } from './deps.ts';

/** The process that has just changed the run may still be writing the entry, or replacing the reminders. */
const settlingTime = seconds(5);
const maxDeferral = days(1);

export interface Claim {
  readonly workerId: string;
  readonly lease: DurationMs;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly state: ExternalState }
  /** another worker has claimed the run; `retryAt`: when to check the reminder again, which the other worker will delete */
  | { readonly kind: 'lost'; readonly retryAt: Instant | undefined }
  /** the run or its reminders were corrected */
  | { readonly kind: 'changed' }
  /** the reminder's entry is being written */
  | { readonly kind: 'early' };

const changed: ClaimOutcome = { kind: 'changed' };

export class RunClaimer {
  readonly #deps: BackendDeps;
  readonly #namespaceId: string;
  readonly #runLogs: RunLogs;
  readonly #effects: EntryEffects;

  constructor(deps: BackendDeps, namespaceId: string, runLogs: RunLogs, effects: EntryEffects) {
    this.#deps = deps;
    this.#namespaceId = namespaceId;
    this.#runLogs = runLogs;
    this.#effects = effects;
  }

  async claim(claim: Claim, reminder: Reminder): Promise<ClaimOutcome> {
    const run = { namespaceId: this.#namespaceId, runId: reminder.runId };
    try {
      return await this.#claim(run, reminder, claim);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      // A run that this version cannot read must not block the others.
      await this.#defer(run, reminder);
      return changed;
    }
  }

  async #claim(run: ExternalRunAddress, reminder: Reminder, { workerId, lease }: Claim): Promise<ClaimOutcome> {
    const change = await this.#runLogs.change(run, (state, now) => decideClaim(state, workerId, lease, now));
    if (change.kind === 'committed') return change.fact.type === 'claimed' ? { kind: 'claimed', state: change.state } : changed;
    const { state } = change;
    const now = this.#deps.clock.now();
    // The reminder's entry does not exist: it is being written, or its writer crashed.
    if (state === undefined || state.last < reminder.number) {
      const dueAt = instant(Math.max(reminder.at, reminder.createdAt));
      if (after(dueAt, settlingTime) > now) return { kind: 'early' };
      await this.#defer(run, reminder);
      return changed;
    }
    const isCurrent =
      state.nextCheck !== undefined && state.nextCheck.nonce === reminder.nonce && state.nextCheck.at === reminder.at;
    if (isCurrent) return { kind: 'lost', retryAt: undefined };
    const retryAt = after(state.run.updatedAt, settlingTime);
    if (retryAt > now) return { kind: 'lost', retryAt };
    await this.#effects.reconcile(run, state, reminder, now);
    return changed;
  }

  async #defer(run: ExternalRunAddress, reminder: Reminder): Promise<void> {
    const { store, clock } = this.#deps;
    const wait = durationMs(backoffMs({ baseMs: minutes(1), maxMs: maxDeferral }, reminder.deferrals + 1));
    const deferred = { ...reminder, at: after(clock.now(), wait), deferrals: reminder.deferrals + 1 };
    await store.addReminder(run.namespaceId, deferred, instant(Math.max(deferred.at, reminder.endOfLife) + maxDeferral));
    await store.deleteReminder(run.namespaceId, reminder);
  }
}
