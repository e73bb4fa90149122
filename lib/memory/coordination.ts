/** Signals and concurrency slots in memory. */
import { type SlotPoolKey, type TakenSlot, type WaitingRun, byAdmissionOrder } from '../engine/concurrency-slots.ts';
import { type SignalId, type SignalKey, type RunId, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, instant } from '../engine/time.ts';
import {
  type StoredSignal,
  type SignalsAtKey,
  type NewSignal,
  type Signals,
  type Waiter,
  type RegisteredWaiter,
  type ConcurrencySlots,
  fewSignals,
  isBesideSignal,
} from '../ports/coordination.ts';
import { memoryDevKit } from './devkit.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

interface Entry {
  signal: StoredSignal;
  readonly payload: JsonValue | undefined;
  retainUntil: Instant;
  isDelivered?: boolean;
}

type NewClaim = { readonly state: 'free' } | { readonly state: 'claimed'; readonly by: Waiter };
type ResolvedClaim = { readonly state: 'free' } | { readonly state: 'taken'; readonly by: RunId };

interface SignalQueue {
  readonly waiters: Map<string, { readonly waiter: RegisteredWaiter; readonly retainUntil: Instant }>;
  readonly signals: Map<SignalId, Entry>;
  /** in order of arrival */
  readonly ordered: Entry[];
}

/** Signals and their waiters in memory. */
class MemorySignals implements Signals {
  readonly #queues = new Map<string, SignalQueue>();

  async read(key: SignalKey): Promise<SignalsAtKey> {
    const { waiters, ordered } = this.#queue(key);
    return {
      waiters: Array.from(waiters.values(), ({ waiter }) => waiter).toSorted(
        (one, other) => one.since - other.since || compareText(waiterName(one), waiterName(other)),
      ),
      signals: ordered.map(({ signal }) => signal),
    };
  }

  async readIfFew(key: SignalKey): Promise<SignalsAtKey | undefined> {
    const { waiters, ordered } = this.#queue(key);
    return waiters.size + ordered.length > fewSignals ? undefined : this.read(key);
  }

  async store(key: SignalKey, signal: NewSignal): Promise<void> {
    const known = this.#queue(key).signals.get(signal.signalId);
    if (known === undefined) this.#add(key, signal, { state: 'free' });
    else known.retainUntil = instant(Math.max(known.retainUntil, signal.retainUntil));
  }

  async storeClaimed(key: SignalKey, signal: NewSignal, waiter: Waiter): Promise<boolean> {
    if (this.#queue(key).signals.has(signal.signalId)) return false;
    this.#add(key, signal, { state: 'claimed', by: waiter });
    return true;
  }

  #add(key: SignalKey, { payload, retainUntil, ...signal }: NewSignal, claim: NewClaim): void {
    const { signals, ordered } = this.#queue(key);
    const isBeside = isBesideSignal(payload);
    const entry: Entry = {
      signal: frozenCopy(isBeside ? { ...signal, ...claim, payload } : { ...signal, ...claim }),
      payload: isBeside ? undefined : frozenCopy(payload),
      retainUntil,
    };
    signals.set(signal.signalId, entry);
    // The list of a key without waiters gets long. Most signals arrive last, so the search starts at the end.
    ordered.splice(ordered.findLastIndex((earlier) => byArrival(earlier, entry) < 0) + 1, 0, entry);
  }

  async payload(key: SignalKey, id: SignalId): Promise<JsonValue | undefined> {
    return this.#queue(key).signals.get(id)?.payload;
  }

  async addWaiter(key: SignalKey, waiter: RegisteredWaiter, retainUntil: Instant): Promise<void> {
    this.#queue(key).waiters.set(waiterName(waiter), frozenCopy({ waiter, retainUntil }));
  }

  async removeWaiter(key: SignalKey, waiter: Waiter): Promise<void> {
    this.#queue(key).waiters.delete(waiterName(waiter));
  }

  async claim(key: SignalKey, id: SignalId, waiter: Waiter): Promise<boolean> {
    const entry = this.#queue(key).signals.get(id);
    if (entry?.signal.state !== 'free') return false;
    entry.signal = frozenCopy({ ...entry.signal, state: 'claimed' as const, by: waiter });
    return true;
  }

  async release(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void> {
    this.#resolveClaim(key, id, waiter, { state: 'free' });
  }

  async markTaken(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void> {
    this.#resolveClaim(key, id, waiter, { state: 'taken', by: waiter.runId });
  }

  async recordDelivery(key: SignalKey, id: SignalId, isDelivered: boolean): Promise<boolean> {
    const entry = this.#queue(key).signals.get(id);
    invariant(entry !== undefined, `the delivery of signal ${id} is recorded, but the signal is not stored`);
    return (entry.isDelivered ??= isDelivered);
  }

  /** Deletes signals and waiters that have expired, as the TTL of the table does. */
  deleteExpired(now: Instant): void {
    for (const { waiters, signals, ordered } of this.#queues.values()) {
      for (const [name, { retainUntil }] of waiters) if (retainUntil <= now) waiters.delete(name);
      for (const [id, entry] of signals) {
        if (entry.retainUntil > now) continue;
        signals.delete(id);
        ordered.splice(ordered.indexOf(entry), 1);
      }
    }
  }

  #resolveClaim(key: SignalKey, id: SignalId, waiter: Waiter, resolved: ResolvedClaim): void {
    const entry = this.#queue(key).signals.get(id);
    if (entry?.signal.state !== 'claimed' || waiterName(entry.signal.by) !== waiterName(waiter)) return;
    const { by: _by, ...signal } = entry.signal;
    entry.signal = frozenCopy({ ...signal, ...resolved });
  }

  #queue(key: SignalKey): SignalQueue {
    const name = JSON.stringify([scopeName(key), key.name, key.correlation]);
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const created: SignalQueue = { waiters: new Map(), signals: new Map(), ordered: [] };
    this.#queues.set(name, created);
    return created;
  }
}

const waiterName = (waiter: Waiter): string => `${waiter.runId}#${nodeKey(waiter)}#${waiter.attempt}`;
const byArrival = ({ signal: one }: Entry, { signal: other }: Entry): number =>
  one.receivedAt - other.receivedAt || compareText(one.signalId, other.signalId);
const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

interface SlotPool {
  readonly taken: Map<number, RunId>;
  readonly expiries: Map<number, Instant>;
  readonly waiting: Map<string, WaitingRun>;
}

/** Concurrency slots in memory. */
class MemoryConcurrencySlots implements ConcurrencySlots {
  readonly #pools = new Map<string, SlotPool>();

  async taken(pool: SlotPoolKey): Promise<readonly TakenSlot[]> {
    const taken = [...this.#pool(pool).taken].map(([slot, runId]) => ({ slot, runId }));
    return taken.toSorted((one, other) => one.slot - other.slot);
  }

  async acquire(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<boolean> {
    const { taken, expiries } = this.#pool(pool);
    if (!taken.has(slot)) expiries.set(slot, expiresAt);
    if (!taken.has(slot)) taken.set(slot, runId);
    return taken.get(slot) === runId;
  }

  async extend(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<void> {
    const { taken, expiries } = this.#pool(pool);
    if (taken.get(slot) === runId) expiries.set(slot, expiresAt);
  }

  /** Frees slots that have expired, as the TTL of the table does. */
  deleteExpired(now: Instant): void {
    for (const { taken, expiries } of this.#pools.values())
      for (const slot of taken.keys()) if ((expiries.get(slot) ?? now) <= now) taken.delete(slot);
  }

  async release(pool: SlotPoolKey, slot: number, runId: RunId): Promise<void> {
    const { taken } = this.#pool(pool);
    if (taken.get(slot) === runId) taken.delete(slot);
  }

  async waiting(pool: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]> {
    return [...this.#pool(pool).waiting.values()].toSorted(byAdmissionOrder).slice(0, limit);
  }

  async enqueue(pool: SlotPoolKey, run: WaitingRun, _expiresAt: Instant): Promise<void> {
    this.#pool(pool).waiting.set(nameOf(run), frozenCopy(run));
  }

  async dequeue(pool: SlotPoolKey, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void> {
    this.#pool(pool).waiting.delete(nameOf(run));
  }

  #pool(pool: SlotPoolKey): SlotPool {
    const name = `${scopeName(pool)}#${pool.workflowName}`;
    const known = this.#pools.get(name) ?? {
      taken: new Map<number, RunId>(),
      expiries: new Map<number, Instant>(),
      waiting: new Map<string, WaitingRun>(),
    };
    this.#pools.set(name, known);
    return known;
  }
}

const nameOf = ({ runId, since }: Pick<WaitingRun, 'runId' | 'since'>): string => `${since}#${runId}`;

export const memoryCoordination = () => ({
  signals: new MemorySignals(),
  concurrencySlots: new MemoryConcurrencySlots(),
  ...memoryDevKit(),
});
