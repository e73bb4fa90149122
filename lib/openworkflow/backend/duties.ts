/**
 * What has to happen beside an entry, and who does it where its writer dies. A run that has not ended always has a reminder that
 * comes no later than the run is due: one that comes sooner than the standing one is put before the entry, one that comes later
 * after it, and the standing one is taken away last of all, when all other duties are done. So whatever is left undone is found
 * by a worker that looks for work.
 */
import type { PolledEntry } from '../../engine/polled/entry.ts';
import type { PolledState } from '../../engine/polled/fold.ts';
import { endOfLife, forgetAt, hasEnded } from '../../engine/polled/run.ts';
import { type Instant, after as later, seconds } from '../../engine/time.ts';
import type { PolledAddress, PolledRuns, Reminder } from '../../ports/polled-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** Where the standing reminder comes later than this, duties have one of their own. */
const longWait = seconds(60);
const careAfter = seconds(30);

const reminderOf = ({ run }: PolledState, look: Pick<Reminder, 'at' | 'nonce' | 'number'>, now: Instant): Reminder => ({
  ...look,
  runId: run.id,
  isPending: run.status === 'pending',
  availableAt: run.availableAt ?? now,
  endOfLife: endOfLife(run),
  createdAt: run.createdAt,
  deferrals: 0,
});

const hasDuties = (before: PolledState | undefined, after: PolledState): boolean => before?.run.status !== after.run.status;

/** Looks after the duties where nothing else does in time. */
const careOf = (
  before: PolledState | undefined,
  after: PolledState,
  { at, nonce, number }: PolledEntry,
): Reminder | undefined => {
  const standing = before === undefined ? after.look?.at : before.look?.at;
  const isNear = standing !== undefined && standing <= later(at, longWait);
  return isNear || !hasDuties(before, after) ? undefined : reminderOf(after, { at: later(at, careAfter), nonce, number }, at);
};

const isSooner = (before: PolledState | undefined, after: PolledState): boolean =>
  after.look !== undefined && (before?.look === undefined || after.look.at < before.look.at);

/** The reminders that are put before the entry. */
export function beforeEntry(before: PolledState | undefined, after: PolledState, entry: PolledEntry): readonly Reminder[] {
  const care = careOf(before, after, entry);
  const { look } = after;
  const first = look !== undefined && isSooner(before, after) ? [reminderOf(after, look, entry.at)] : [];
  return care === undefined ? first : [...first, care];
}

/** Tells the run of the step attempt that its child has ended. */
export type TellParent = (child: PolledAddress, state: PolledState) => Promise<void>;

export class Duties {
  readonly #store: PolledRuns;
  readonly #tellParent: TellParent;

  constructor(store: PolledRuns, tellParent: TellParent) {
    this.#store = store;
    this.#tellParent = tellParent;
  }

  /** The entry is written, so trouble with these is not its writer's. */
  async afterEntry(run: PolledAddress, before: PolledState | undefined, after: PolledState, entry: PolledEntry): Promise<void> {
    try {
      const { look } = after;
      const isNew = look !== undefined && look.nonce === entry.nonce;
      if (isNew && !isSooner(before, after)) await this.#remind(run, after, entry.at);
      if (hasDuties(before, after)) await this.standing(run, after);
      const care = careOf(before, after, entry);
      const isOver = before?.look !== undefined && (isNew || look === undefined);
      await Promise.all([
        ...(care === undefined ? [] : [this.#store.dropReminder(run.namespaceId, care)]),
        ...(isOver ? [this.#store.dropReminder(run.namespaceId, { ...before.look, runId: run.runId })] : []),
      ]);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }

  /** What any state asks for, however often it is done. */
  async standing(run: PolledAddress, state: PolledState): Promise<void> {
    const { workflowName, createdAt, status } = state.run;
    const listing = { runId: run.runId, createdAt, workflowName, status, asOf: state.last };
    await this.#store.enlist(run.namespaceId, listing, forgetAt(state.run));
    if (hasEnded(state.run)) await this.#tellParent(run, state);
  }

  /** A reminder that is of no use any more: all that it could be for is done, and it goes. */
  async settle(run: PolledAddress, state: PolledState, stale: Reminder, now: Instant): Promise<void> {
    await this.standing(run, state);
    if (state.look !== undefined) await this.#remind(run, state, now);
    await this.#store.dropReminder(run.namespaceId, stale);
  }

  async #remind(run: PolledAddress, state: PolledState, now: Instant): Promise<void> {
    const { look } = state;
    if (look === undefined) return;
    await this.#store.remind(run.namespaceId, reminderOf(state, look, now), forgetAt(state.run));
  }
}
