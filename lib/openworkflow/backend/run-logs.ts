/**
 * The logs of runs. Each change is a fact, and its entry is put under the next number on the condition that the number is free. A
 * writer with an older state is refused, reads the new entries and decides again (optimistic concurrency). So a worker whose run was
 * claimed by another finds out from the log, without locks or transactions.
 */
import { type RetryLimits, retry } from '../../base/retry.ts';
import { nonce } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Decision } from '../../engine/external/decide.ts';
import { type ExternalCreation, type ExternalEntry, type ExternalFact, mayShareEntry } from '../../engine/external/entry.ts';
import { type NumberedFact, type ExternalState, foldExternal, withFact } from '../../engine/external/fold.ts';
import { retainUntil, hasEnded } from '../../engine/external/run.ts';
import { externalRunId } from '../../engine/external/run.ts';
import { type Instant, durationMs, hours, instant } from '../../engine/time.ts';
import type { ExternalRunAddress } from '../../ports/external-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type EntryEffects, beforeEntry } from './entry-effects.ts';
import { assertFitsItem, alwaysFitsLength } from './assert-fits-item.ts';
import type { BackendDeps } from './deps.ts';

export type Change =
  | { readonly kind: 'committed'; readonly state: ExternalState; readonly fact: ExternalFact }
  | { readonly kind: 'unchanged'; readonly state: ExternalState }
  /** `state` is undefined where the run does not exist */
  | { readonly kind: 'refused'; readonly state: ExternalState | undefined };

type Decide = (state: ExternalState, now: Instant) => Decision;
/** Writes what must exist before the fact with that number. */
type Prepare = (state: ExternalState, number: number) => Promise<void>;

/** Size of the cache of states, least recently used first out. */
const maxCachedStates = 500;
/** Puts of the same entry while its result is unknown. The client of the store has waited before each. */
const unknownOutcomeLimits: RetryLimits = { attempts: 3, backoff: { baseMs: 0 } };

export class RunLogs {
  readonly #deps: BackendDeps;
  readonly #effects: EntryEffects;
  readonly #onChange: () => void;
  readonly #cache = new Map<string, ExternalState>();
  /** Changes by run; the first of each queue is being decided. */
  readonly #queues = new Map<string, QueuedChange[]>();

  /** @param onChange called after each entry that this process has written */
  constructor(deps: BackendDeps, effects: EntryEffects, onChange: () => void) {
    this.#deps = deps;
    this.#effects = effects;
    this.#onChange = onChange;
  }

  /** The current state; undefined where the run does not exist. */
  async state(run: ExternalRunAddress): Promise<ExternalState | undefined> {
    const cached = this.#cache.get(cacheKeyOf(run));
    // An ended run does not change.
    return cached !== undefined && hasEnded(cached.run) ? cached : this.#read(run, cached);
  }

  /** Creates the run; returns the existing one where it exists. */
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

  /** Queues the changes of one run in this process, because concurrent ones would conflict. */
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
   * Decides the first change of the queue, together with the following ones that can share its entry. Otherwise a run with hundreds
   * of parallel steps would need a put for each of them, one after the other.
   *
   * @returns the outcomes of the first change, and of those that share its entry
   */
  async #decideFirst(run: ExternalRunAddress, queue: readonly QueuedChange[]): Promise<readonly Outcome[]> {
    const [first] = queue;
    invariant(first !== undefined, 'only a queue with changes is processed');
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
      // The cached state may be outdated: refuse no change on it, read again.
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

  #append(run: ExternalRunAddress, entry: ExternalEntry, expiresAt: Instant): Promise<'written' | 'taken'> {
    return retry(
      () => this.#deps.store.append(run, entry, expiresAt),
      { ...unknownOutcomeLimits, isRetryable: (error) => error instanceof Unavailable },
      { sleep: (ms) => this.#deps.sleep(durationMs(ms)) },
    );
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
  /** effects after the entry, shared by its facts */
  readonly effects: Promise<void>;
}
type Outcome = ChangeResult | { readonly error: unknown };
const withoutEffects = (change: Change): ChangeResult => ({ change, effects: Promise.resolve() });

interface DecidedFact {
  readonly fact: ExternalFact;
  /** the state with this fact and those before it */
  readonly state: ExternalState;
}

/**
 * The first fact, and those of the following changes that fit into its entry, in order. It ends at the first change that must be
 * alone, needs preparation, decides on something else than a commit, or could make the entry too large.
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

const keyLifetime = hours(24);

/** Creates a run; with an idempotency key at most once a day. */
export async function createRun(
  { store, clock, newId }: BackendDeps,
  runLogs: RunLogs,
  namespaceId: string,
  creation: ExternalCreation,
): Promise<ExternalState> {
  const newRunId = externalRunId(newId());
  const { idempotencyKey, workflowName, parent, deadlineAt } = creation;
  if (idempotencyKey === null) return runLogs.create({ namespaceId, runId: newRunId }, creation);
  const now = clock.now();
  // A step has one child, also when a later replay requests it again.
  const notBefore = parent === null ? instant(now - keyLifetime) : instant(0);
  const key = JSON.stringify([workflowName, idempotencyKey]);
  const expiresAt = retainUntil({ createdAt: now, deadlineAt });
  const reservation = await store.reserveKey(namespaceId, key, { runId: newRunId, at: now }, notBefore, expiresAt);
  const run = { namespaceId, runId: reservation.kind === 'reserved' ? newRunId : reservation.by.runId };
  // The first holder of the key may have crashed before it created the run: create it now, under the same id.
  const existing = reservation.kind === 'reserved' ? undefined : await runLogs.state(run);
  return existing ?? runLogs.create(run, creation);
}
