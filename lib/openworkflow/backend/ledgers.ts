/**
 * Runs by their logs. Each change is one entry, put under the next number on the condition that it is free: whoever decided on
 * an older state is refused, reads what is new and decides again. So a worker whose run was claimed by another finds out by the
 * log, and no lock and no transaction is needed.
 */
import { pack } from '../../codec/packed.ts';
import { nonce } from '../../engine/ids.ts';
import type { Decision } from '../../engine/polled/decide.ts';
import type { PolledCreation, PolledEntry, PolledFact } from '../../engine/polled/entry.ts';
import { type PolledState, foldPolled, withEntry } from '../../engine/polled/fold.ts';
import { forgetAt, hasEnded } from '../../engine/polled/run.ts';
import type { Instant } from '../../engine/time.ts';
import type { PolledAddress } from '../../ports/polled-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type Duties, beforeEntry } from './duties.ts';
import type { BackendParts } from './parts.ts';

export type Change =
  | { readonly kind: 'committed'; readonly state: PolledState; readonly fact: PolledFact }
  | { readonly kind: 'stands'; readonly state: PolledState }
  /** `state` is absent where there is no such run */
  | { readonly kind: 'refused'; readonly state: PolledState | undefined };

type Decide = (state: PolledState, now: Instant) => Decision;
/** What has to be written before the entry of that number. */
type Prepare = (state: PolledState, number: number) => Promise<void>;

/** States of so many runs are kept, the last used. */
const mostKept = 500;
/** The same entry is put again while nobody knows whether it was. */
const puts = 3;
/** An item holds 400 KB; attributes and keys need some. */
const mostBytes = 380_000;
/** Text that is shorter need not be packed to know that it fits. */
const surelyFits = 100_000;

export class Ledgers {
  readonly #parts: BackendParts;
  readonly #duties: Duties;
  readonly #onChange: () => void;
  readonly #kept = new Map<string, PolledState>();
  /** Changes of one run by this process queue up: they would only refuse one another. */
  readonly #turns = new Map<string, Promise<unknown>>();

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
    const entry = this.#entry(1, this.#parts.clock.now(), { type: 'created', ...creation });
    const state = withEntry(run.runId, undefined, entry);
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
    const { change, after } = await this.#inTurn(run, () => this.#change(run, decide, prepare));
    await after();
    return change;
  }

  async #change(run: PolledAddress, decide: Decide, prepare: Prepare | undefined): Promise<Changed> {
    let kept = this.#kept.get(nameOf(run));
    for (let isFresh = false; ;) {
      const state: PolledState | undefined = kept ?? (await this.#read(run, undefined));
      isFresh ||= kept === undefined;
      if (state === undefined) return unchanged({ kind: 'refused', state });
      const now = this.#parts.clock.now();
      const decision = decide(state, now);
      if (decision.kind === 'commit') {
        const entry = this.#entry(state.last + 1, now, decision.fact);
        const next = withEntry(run.runId, state, entry);
        await prepare?.(state, entry.number);
        if ((await this.#put(run, state, next, entry)) === 'written')
          return {
            change: { kind: 'committed', state: next, fact: entry.fact },
            after: () => this.#duties.afterEntry(run, state, next, entry),
          };
      } else if (isFresh) return unchanged({ kind: decision.kind, state });
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

  #entry(number: number, at: Instant, fact: PolledFact): PolledEntry {
    const text = JSON.stringify(fact);
    if (text.length > surelyFits) {
      const packed = pack(fact);
      const bytes = 'text' in packed ? Buffer.byteLength(packed.text) : packed.gzip.length;
      if (bytes > mostBytes)
        throw new RangeError(`${fact.type}: ${bytes} bytes compressed, and at most ${mostBytes} can be kept`);
    }
    return { number, nonce: nonce(this.#parts.newId()), at, fact };
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

  async #inTurn<Result>(run: PolledAddress, work: () => Promise<Result>): Promise<Result> {
    const name = nameOf(run);
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(work, work);
    const quiet = turn.catch(() => {});
    this.#turns.set(name, quiet);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(name) === quiet) this.#turns.delete(name);
    }
  }
}

interface Changed {
  readonly change: Change;
  readonly after: () => Promise<void>;
}
const unchanged = (change: Change): Changed => ({ change, after: async () => {} });

const nameOf = ({ namespaceId, runId }: PolledAddress): string => `${runId}#${namespaceId}`;
