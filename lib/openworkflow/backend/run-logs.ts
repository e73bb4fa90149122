/**
 * Runs by their logs. Each change is a fact, put with its entry under the next number on the condition that it is free: whoever
 * decided on an older state is refused, reads what is new and decides again. So a worker whose run was claimed by another finds out by the
 * log, and no lock and no transaction is needed.
 */
import { nonce } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Decision } from '../../engine/external/decide.ts';
import { type ExternalCreation, type ExternalEntry, type ExternalFact, mayShareEntry } from '../../engine/external/entry.ts';
import { type NumberedFact, type ExternalState, foldExternal, withFact } from '../../engine/external/fold.ts';
import { retainUntil, hasEnded } from '../../engine/external/run.ts';
import type { Instant } from '../../engine/time.ts';
import type { ExternalRunAddress } from '../../ports/external-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type EntryEffects, beforeEntry } from './entry-effects.ts';
import { assertFitsItem, alwaysFitsLength } from './assert-fits-item.ts';
import type { BackendDeps } from './deps.ts';

export type Change =
  | { readonly kind: 'committed'; readonly state: ExternalState; readonly fact: ExternalFact }
  | { readonly kind: 'unchanged'; readonly state: ExternalState }
  /** `state` is absent where there is no such run */
  | { readonly kind: 'refused'; readonly state: ExternalState | undefined };

type Decide = (state: ExternalState, now: Instant) => Decision;
/** What has to be written before the fact of that number. */
type Prepare = (state: ExternalState, number: number) => Promise<void>;

/** States of so many runs are kept, the last used. */
const maxCachedStates = 500;
/** The same entry is put again while nobody knows whether it was. */
const maxPutAttempts = 3;
export class RunLogs {
  readonly #deps: BackendDeps;
  readonly #effects: EntryEffects;
  readonly #onChange: () => void;
  readonly #cache = new Map<string, ExternalState>();
  /** The first of each is being decided. */
  readonly #queues = new Map<string, QueuedChange[]>();

  /** @param onChange called after each entry that this process has written */
  constructor(deps: BackendDeps, effects: EntryEffects, onChange: () => void) {
    this.#deps = deps;
    this.#effects = effects;
    this.#onChange = onChange;
  }

  /** As it is now; undefined where there is no such run. */
  async state(run: ExternalRunAddress): Promise<ExternalState | undefined> {
    const cached = this.#cache.get(cacheKeyOf(run));
    // What has ended does not change any more.
    return cached !== undefined && hasEnded(cached.run) ? cached : this.#read(run, cached);
  }

  /** Creates the run; where it is there already, that one is the answer. */
  async create(run: ExternalRunAddress, creation: ExternalCreation): Promise<ExternalState> {
    const fact = assertFitsItem<ExternalFact>('created', { type: 'created', ...creation });
    const numberedFact = { number: 1, nonce: nonce(this.#deps.newId()), at: this.#deps.clock.now() };
    const state = withFact(run.runId, undefined, { ...numberedFact, fact });
    const entry = { ...numberedFact, facts: [fact] };
    const putResult = await this.#put(run, undefined, state, entry);
    if (putResult === 'written') {
      await this.#effects.afterEntry(run, undefined, state, entry);
      return state;
    }
    const existing = await this.#read(run, undefined);
    if (existing === undefined) throw new Unavailable(`run ${run.runId}`);
    return existing;
  }

  async change(run: ExternalRunAddress, decide: Decide, prepare?: Prepare): Promise<Change> {
    const { change, effects } = await this.#enqueue(run, decide, prepare);
    await effects;
    return change;
  }

  /** Changes of one run by this process queue up, because they would only refuse one another. */
  #enqueue(run: ExternalRunAddress, decide: Decide, prepare: Prepare | undefined): Promise<ChangeResult> {
    const name = cacheKeyOf(run);
    const queue = this.#queues.get(name) ?? [];
    return new Promise((resolve, reject) => {
      queue.push({ decide, prepare, resolve, reject });
      if (queue.length > 1) return;
      this.#queues.set(name, queue);
      void this.#drainQueue(run, queue);
    });
  }

  async #drainQueue(run: ExternalRunAddress, queue: QueuedChange[]): Promise<void> {
    while (queue.length > 0) {
      const outcomes = await this.#decideFirst(run, queue).catch((error: unknown) => [{ error }]);
      for (const outcome of outcomes) {
        const queued = queue.shift();
        if ('error' in outcome) queued?.reject(outcome.error);
        else queued?.resolve(outcome);
      }
    }
    this.#queues.delete(cacheKeyOf(run));
  }

  /**
   * Decides the first change of the queue. Those behind it that can share its entry are decided with it: a run with hundreds of
   * steps side by side would otherwise wait for a put for each of them, one after the other.
   *
   * @returns the outcomes of the first, and of those that shared its entry
   */
  async #decideFirst(run: ExternalRunAddress, queue: readonly QueuedChange[]): Promise<readonly Outcome[]> {
    const [first] = queue;
    invariant(first !== undefined, 'a queue of changes is worked on while there is one');
    let cached = this.#cache.get(cacheKeyOf(run));
    for (let isFresh = false; ;) {
      const state: ExternalState | undefined = cached ?? (await this.#read(run, undefined));
      isFresh ||= cached === undefined;
      if (state === undefined) return [withoutEffects({ kind: 'refused', state })];
      const now = this.#deps.clock.now();
      const decision = first.decide(state, now);
      if (decision.kind === 'commit') {
        const numberedFact = {
          number: state.last + 1,
          nonce: nonce(this.#deps.newId()),
          at: now,
          fact: assertFitsItem(decision.fact.type, decision.fact),
        };
        await first.prepare?.(state, numberedFact.number);
        const { decided, after } = batchSharedFacts(run, state, numberedFact, queue.slice(1));
        const entry = { ...numberedFact, facts: decided.map(({ fact }) => fact) };
        const putResult = await this.#put(run, state, after, entry).catch((error: unknown) => ({ error }));
        if (typeof putResult === 'object') return decided.map(() => putResult);
        if (putResult === 'written') {
          const effects = this.#effects.afterEntry(run, state, after, entry);
          return decided.map((each) => ({ change: { kind: 'committed', ...each }, effects }));
        }
      } else if (isFresh) return [withoutEffects({ kind: decision.kind, state })];
      // Somebody else was first, or may have been: no is said to nobody on what was kept.
      cached = await this.#read(run, state);
      isFresh = true;
    }
  }

  async #put(
    run: ExternalRunAddress,
    before: ExternalState | undefined,
    after: ExternalState,
    entry: ExternalEntry,
  ): Promise<'written' | 'taken'> {
    const { store } = this.#deps;
    const expiresAt = retainUntil(after.run);
    const reminders = beforeEntry(before, after, entry);
    for (const reminder of reminders) await store.addReminder(run.namespaceId, reminder, expiresAt);
    const putResult = await this.#append(run, entry, expiresAt);
    if (putResult === 'written') {
      this.#cacheState(run, after);
      this.#onChange();
    } else await Promise.all(reminders.map((reminder) => store.deleteReminder(run.namespaceId, reminder)));
    return putResult;
  }

  async #append(run: ExternalRunAddress, entry: ExternalEntry, expiresAt: Instant): Promise<'written' | 'taken'> {
    for (let remaining = maxPutAttempts - 1; ; remaining -= 1) {
      try {
        return await this.#deps.store.append(run, entry, expiresAt);
      } catch (error) {
        if (!(error instanceof Unavailable) || remaining === 0) throw error;
      }
    }
  }

  async #read(run: ExternalRunAddress, cached: ExternalState | undefined): Promise<ExternalState | undefined> {
    const entries = await this.#deps.store.entries(run, cached?.last ?? 0);
    const state = foldExternal(run.runId, cached, entries);
    if (state !== undefined) this.#cacheState(run, state);
    return state;
  }

  #cacheState(run: ExternalRunAddress, state: ExternalState): void {
    const name = cacheKeyOf(run);
    const existing = this.#cache.get(name);
    this.#cache.delete(name);
    this.#cache.set(name, existing !== undefined && existing.last > state.last ? existing : state);
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > maxCachedStates && oldest !== undefined) this.#cache.delete(oldest);
  }
}

interface QueuedChange {
  readonly decide: Decide;
  readonly prepare: Prepare | undefined;
  readonly resolve: (changed: ChangeResult) => void;
  readonly reject: (error: unknown) => void;
}

interface ChangeResult {
  readonly change: Change;
  /** what has to follow the entry; one for all that share it */
  readonly effects: Promise<void>;
}
type Outcome = ChangeResult | { readonly error: unknown };
const withoutEffects = (change: Change): ChangeResult => ({ change, effects: Promise.resolve() });

interface DecidedFact {
  readonly fact: ExternalFact;
  /** with that fact, and those before it */
  readonly state: ExternalState;
}

/**
 * The first fact, and those of the changes behind it that may be in its entry: in their order, up to the first that has to be
 * alone, that has something to prepare, that is not decided for a commit, or that makes the entry too large to be sure that it fits.
 */
function batchSharedFacts(
  run: ExternalRunAddress,
  before: ExternalState,
  first: NumberedFact,
  following: readonly QueuedChange[],
) {
  let after = withFact(run.runId, before, first);
  const decided: DecidedFact[] = [{ fact: first.fact, state: after }];
  let length = JSON.stringify(first.fact).length;
  for (const { decide, prepare } of mayShareEntry(first.fact) ? following : []) {
    const decision = prepare === undefined ? decide(after, first.at) : undefined;
    if (decision?.kind !== 'commit' || !mayShareEntry(decision.fact)) break;
    const { fact } = decision;
    length += JSON.stringify(fact).length;
    if (length > alwaysFitsLength) break;
    after = withFact(run.runId, after, { ...first, number: after.last + 1, fact });
    decided.push({ fact, state: after });
  }
  return { decided, after };
}

const cacheKeyOf = ({ namespaceId, runId }: ExternalRunAddress): string => `${runId}#${namespaceId}`;
