/**
 * Runs by their logs. Each change is a fact, put with its entry under the next number on the condition that it is free: whoever
 * decided on an older state is refused, reads what is new and decides again. So a worker whose run was claimed by another finds out by the
 * log, and no lock and no transaction is needed.
 */
import { nonce } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Decision } from '../../engine/polled/decide.ts';
import { type PolledCreation, type PolledEntry, type PolledFact, mayShareEntry } from '../../engine/polled/entry.ts';
import { type PlacedFact, type PolledState, foldPolled, withFact } from '../../engine/polled/fold.ts';
import { forgetAt, hasEnded } from '../../engine/polled/run.ts';
import type { Instant } from '../../engine/time.ts';
import type { PolledAddress } from '../../ports/polled-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type Duties, beforeEntry } from './duties.ts';
import { fitting, surelyFits } from './fitting.ts';
import type { BackendParts } from './parts.ts';

export type Change =
  | { readonly kind: 'committed'; readonly state: PolledState; readonly fact: PolledFact }
  | { readonly kind: 'stands'; readonly state: PolledState }
  /** `state` is absent where there is no such run */
  | { readonly kind: 'refused'; readonly state: PolledState | undefined };

type Decide = (state: PolledState, now: Instant) => Decision;
/** What has to be written before the fact of that number. */
type Prepare = (state: PolledState, number: number) => Promise<void>;

/** States of so many runs are kept, the last used. */
const mostKept = 500;
/** The same entry is put again while nobody knows whether it was. */
const puts = 3;
export class Ledgers {
  readonly #parts: BackendParts;
  readonly #duties: Duties;
  readonly #onChange: () => void;
  readonly #kept = new Map<string, PolledState>();
  /** The first of each is being decided. */
  readonly #queues = new Map<string, Queued[]>();

  /** @param onChange called after each entry that this process has written */
  constructor(parts: BackendParts, duties: Duties, onChange: () => void) {
    this.#parts = parts;
    this.#duties = duties;
    this.#onChange = onChange;
  }

  /** As it is now; undefined where there is no such run. */
  async state(run: PolledAddress): Promise<PolledState | undefined> {
    const kept = this.#kept.get(nameOf(run));
    // What has ended does not change any more.
    return kept !== undefined && hasEnded(kept.run) ? kept : this.#read(run, kept);
  }

  /** Creates the run; where it is there already, that one is the answer. */
  async create(run: PolledAddress, creation: PolledCreation): Promise<PolledState> {
    const fact = fitting<PolledFact>('created', { type: 'created', ...creation });
    const placed = { number: 1, nonce: nonce(this.#parts.newId()), at: this.#parts.clock.now() };
    const state = withFact(run.runId, undefined, { ...placed, fact });
    const entry = { ...placed, facts: [fact] };
    const done = await this.#put(run, undefined, state, entry);
    if (done === 'written') {
      await this.#duties.afterEntry(run, undefined, state, entry);
      return state;
    }
    const standing = await this.#read(run, undefined);
    if (standing === undefined) throw new Unavailable(`run ${run.runId}`);
    return standing;
  }

  async change(run: PolledAddress, decide: Decide, prepare?: Prepare): Promise<Change> {
    const { change, duties } = await this.#inTurn(run, decide, prepare);
    await duties;
    return change;
  }

  /** Changes of one run by this process queue up, because they would only refuse one another. */
  #inTurn(run: PolledAddress, decide: Decide, prepare: Prepare | undefined): Promise<Changed> {
    const name = nameOf(run);
    const queue = this.#queues.get(name) ?? [];
    return new Promise((give, fail) => {
      queue.push({ decide, prepare, give, fail });
      if (queue.length > 1) return;
      this.#queues.set(name, queue);
      void this.#work(run, queue);
    });
  }

  async #work(run: PolledAddress, queue: Queued[]): Promise<void> {
    while (queue.length > 0) {
      const outcomes = await this.#changeFirst(run, queue).catch((error: unknown) => [{ error }]);
      for (const outcome of outcomes) {
        const queued = queue.shift();
        if ('error' in outcome) queued?.fail(outcome.error);
        else queued?.give(outcome);
      }
    }
    this.#queues.delete(nameOf(run));
  }

  /**
   * Decides the first change of the queue. Those behind it that can share its entry are decided with it: a run with hundreds of
   * steps side by side would otherwise wait for a put for each of them, one after the other.
   *
   * @returns the outcomes of the first, and of those that shared its entry
   */
  async #changeFirst(run: PolledAddress, queue: readonly Queued[]): Promise<readonly Outcome[]> {
    const [first] = queue;
    invariant(first !== undefined, 'a queue of changes is worked on while there is one');
    let kept = this.#kept.get(nameOf(run));
    for (let isFresh = false; ;) {
      const state: PolledState | undefined = kept ?? (await this.#read(run, undefined));
      isFresh ||= kept === undefined;
      if (state === undefined) return [unchanged({ kind: 'refused', state })];
      const now = this.#parts.clock.now();
      const decision = first.decide(state, now);
      if (decision.kind === 'commit') {
        const placed = {
          number: state.last + 1,
          nonce: nonce(this.#parts.newId()),
          at: now,
          fact: fitting(decision.fact.type, decision.fact),
        };
        await first.prepare?.(state, placed.number);
        const { decided, after } = sharing(run, state, placed, queue.slice(1));
        const entry = { ...placed, facts: decided.map(({ fact }) => fact) };
        const done = await this.#put(run, state, after, entry).catch((error: unknown) => ({ error }));
        if (typeof done === 'object') return decided.map(() => done);
        if (done === 'written') {
          const duties = this.#duties.afterEntry(run, state, after, entry);
          return decided.map((each) => ({ change: { kind: 'committed', ...each }, duties }));
        }
      } else if (isFresh) return [unchanged({ kind: decision.kind, state })];
      // Somebody else was first, or may have been: no is said to nobody on what was kept.
      kept = await this.#read(run, state);
      isFresh = true;
    }
  }

  async #put(
    run: PolledAddress,
    before: PolledState | undefined,
    after: PolledState,
    entry: PolledEntry,
  ): Promise<'written' | 'taken'> {
    const { store } = this.#parts;
    const forget = forgetAt(after.run);
    const reminders = beforeEntry(before, after, entry);
    for (const reminder of reminders) await store.remind(run.namespaceId, reminder, forget);
    const done = await this.#append(run, entry, forget);
    if (done === 'written') {
      this.#keep(run, after);
      this.#onChange();
    } else await Promise.all(reminders.map((reminder) => store.dropReminder(run.namespaceId, reminder)));
    return done;
  }

  async #append(run: PolledAddress, entry: PolledEntry, forget: Instant): Promise<'written' | 'taken'> {
    for (let left = puts - 1; ; left -= 1) {
      try {
        return await this.#parts.store.append(run, entry, forget);
      } catch (error) {
        if (!(error instanceof Unavailable) || left === 0) throw error;
      }
    }
  }

  async #read(run: PolledAddress, kept: PolledState | undefined): Promise<PolledState | undefined> {
    const entries = await this.#parts.store.entries(run, kept?.last ?? 0);
    const state = foldPolled(run.runId, kept, entries);
    if (state !== undefined) this.#keep(run, state);
    return state;
  }

  #keep(run: PolledAddress, state: PolledState): void {
    const name = nameOf(run);
    const standing = this.#kept.get(name);
    this.#kept.delete(name);
    this.#kept.set(name, standing !== undefined && standing.last > state.last ? standing : state);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}

interface Queued {
  readonly decide: Decide;
  readonly prepare: Prepare | undefined;
  readonly give: (changed: Changed) => void;
  readonly fail: (error: unknown) => void;
}

interface Changed {
  readonly change: Change;
  /** what has to follow the entry; one for all that share it */
  readonly duties: Promise<void>;
}
type Outcome = Changed | { readonly error: unknown };
const unchanged = (change: Change): Changed => ({ change, duties: Promise.resolve() });

interface Decided {
  readonly fact: PolledFact;
  /** with that fact, and those before it */
  readonly state: PolledState;
}

/**
 * The first fact, and those of the changes behind it that may be in its entry: in their order, up to the first that has to be
 * alone, that has something to prepare, that is not decided for a commit, or that makes the entry too large to be sure that it fits.
 */
function sharing(run: PolledAddress, before: PolledState, first: PlacedFact, behind: readonly Queued[]) {
  let after = withFact(run.runId, before, first);
  const decided: Decided[] = [{ fact: first.fact, state: after }];
  let length = JSON.stringify(first.fact).length;
  for (const { decide, prepare } of mayShareEntry(first.fact) ? behind : []) {
    const decision = prepare === undefined ? decide(after, first.at) : undefined;
    if (decision?.kind !== 'commit' || !mayShareEntry(decision.fact)) break;
    const { fact } = decision;
    length += JSON.stringify(fact).length;
    if (length > surelyFits) break;
    after = withFact(run.runId, after, { ...first, number: after.last + 1, fact });
    decided.push({ fact, state: after });
  }
  return { decided, after };
}

const nameOf = ({ namespaceId, runId }: PolledAddress): string => `${runId}#${namespaceId}`;
