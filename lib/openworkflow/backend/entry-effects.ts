/**
 * The effects of a log entry, and their recovery where the writer crashes. A run that has not ended always has a reminder that is
 * due no later than the run. An earlier reminder is written before the entry, a later one after it. The previous reminder is
 * deleted last, when all other effects are done. So a worker that polls for runs finds the effects that are still missing.
 */
import { defined } from '../../base/defined.ts';
import type { ExternalEntry } from '../../engine/external/entry.ts';
import { externalFailure } from '../../engine/external/failure.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import { endOfLife, retainUntil, hasEnded } from '../../engine/external/run.ts';
import { type Instant, after as later, seconds } from '../../engine/time.ts';
import type { ExternalRunAddress, ExternalRuns, Listing, Reminder } from '../../ports/external-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** Where the current reminder is due later than this, the effects get a separate one. */
const longWait = seconds(60);
const fallbackDelay = seconds(30);

const reminderOf = ({ run }: ExternalState, nextCheck: Pick<Reminder, 'at' | 'nonce' | 'number'>, now: Instant): Reminder => ({
  ...nextCheck,
  runId: run.id,
  isPending: run.status === 'pending',
  availableAt: run.availableAt ?? now,
  endOfLife: endOfLife(run),
  createdAt: run.createdAt,
  deferrals: 0,
});

const hasEffects = (before: ExternalState | undefined, after: ExternalState): boolean => before?.run.status !== after.run.status;

/** The reminder that recovers the effects where no other one does in time. */
const fallbackReminder = (
  before: ExternalState | undefined,
  after: ExternalState,
  { at, nonce, number }: ExternalEntry,
): Reminder | undefined => {
  const applyStateEffects = before === undefined ? after.nextCheck?.at : before.nextCheck?.at;
  const isSoon = applyStateEffects !== undefined && applyStateEffects <= later(at, longWait);
  return isSoon || !hasEffects(before, after)
    ? undefined
    : reminderOf(after, { at: later(at, fallbackDelay), nonce, number }, at);
};

const isSooner = (before: ExternalState | undefined, after: ExternalState): boolean =>
  after.nextCheck !== undefined && (before?.nextCheck === undefined || after.nextCheck.at < before.nextCheck.at);

/** The reminders that are written before the entry. */
export function beforeEntry(before: ExternalState | undefined, after: ExternalState, entry: ExternalEntry): readonly Reminder[] {
  const fallback = fallbackReminder(before, after, entry);
  const { nextCheck } = after;
  const first = nextCheck !== undefined && isSooner(before, after) ? [reminderOf(after, nextCheck, entry.at)] : [];
  return fallback === undefined ? first : [...first, fallback];
}

/** Characters of an error's message in a list. Lists read up to 1,000 listings at once. */
const maxListedMessage = 300;

const listingOf = ({ run, last }: ExternalState): Listing => {
  const { id, createdAt, workflowName, version, status, availableAt, finishedAt, error, parent } = run;
  const failure = error === null ? undefined : externalFailure(error);
  const message = failure?.message.slice(0, maxListedMessage).toWellFormed();
  return defined({
    runId: id,
    createdAt,
    workflowName,
    version,
    status,
    deadlineAt: endOfLife(run),
    availableAt: status === 'pending' && availableAt !== null ? availableAt : undefined,
    endedAt: finishedAt ?? undefined,
    error: message === undefined ? undefined : defined({ code: failure?.code, message }),
    parent: parent?.stepAttemptId,
    asOf: last,
  });
};

/** Reports a child run's end to the step attempt of its parent. */
export type NotifyParent = (child: ExternalRunAddress, state: ExternalState) => Promise<void>;

export class EntryEffects {
  readonly #store: ExternalRuns;
  readonly #notifyParent: NotifyParent;

  constructor(store: ExternalRuns, notifyParent: NotifyParent) {
    this.#store = store;
    this.#notifyParent = notifyParent;
  }

  /** The entry is written, so an error here must not fail the writer's call. */
  async afterEntry(
    run: ExternalRunAddress,
    before: ExternalState | undefined,
    after: ExternalState,
    entry: ExternalEntry,
  ): Promise<void> {
    try {
      const { nextCheck } = after;
      const isNew = nextCheck !== undefined && nextCheck.nonce === entry.nonce;
      if (isNew && !isSooner(before, after)) await this.#remind(run, after, entry.at);
      if (hasEffects(before, after)) await this.applyStateEffects(run, after);
      const fallback = fallbackReminder(before, after, entry);
      const isPreviousObsolete = before?.nextCheck !== undefined && (isNew || nextCheck === undefined);
      await Promise.all([
        ...(fallback === undefined ? [] : [this.#store.deleteReminder(run.namespaceId, fallback)]),
        ...(isPreviousObsolete ? [this.#store.deleteReminder(run.namespaceId, { ...before.nextCheck, runId: run.runId })] : []),
      ]);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }

  /** The effects of a state; they are idempotent. */
  async applyStateEffects(run: ExternalRunAddress, state: ExternalState): Promise<void> {
    await this.#store.putListing(run.namespaceId, listingOf(state), retainUntil(state.run));
    if (hasEnded(state.run)) await this.#notifyParent(run, state);
  }

  /** Deletes a reminder whose effects are all done. */
  async reconcile(run: ExternalRunAddress, state: ExternalState, stale: Reminder, now: Instant): Promise<void> {
    await this.applyStateEffects(run, state);
    if (state.nextCheck !== undefined) await this.#remind(run, state, now);
    await this.#store.deleteReminder(run.namespaceId, stale);
  }

  async #remind(run: ExternalRunAddress, state: ExternalState, now: Instant): Promise<void> {
    const { nextCheck } = state;
    if (nextCheck === undefined) return;
    await this.#store.addReminder(run.namespaceId, reminderOf(state, nextCheck, now), retainUntil(state.run));
  }
}
