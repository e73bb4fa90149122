/** Signals and their waiters in memory. */
import { type SignalId, type SignalKey, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { StoredSignal, SignalsAtKey, NewSignal, Signals, Waiter } from '../ports/signals.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

interface Entry {
  signal: StoredSignal;
  readonly payload: JsonValue;
  isDelivered?: boolean;
}

interface SignalQueue {
  readonly waiters: Map<string, Waiter>;
  readonly signals: Map<SignalId, Entry>;
  /** in order of arrival */
  readonly ordered: Entry[];
}

export class MemorySignals implements Signals {
  readonly #queues = new Map<string, SignalQueue>();

  async read(key: SignalKey): Promise<SignalsAtKey> {
    const { waiters, ordered } = this.#queue(key);
    return {
      waiters: [...waiters.values()].toSorted((one, other) => one.since - other.since || compareText(nameOf(one), nameOf(other))),
      signals: ordered.map(({ signal }) => signal),
    };
  }

  async store(key: SignalKey, { payload, retainUntil: _retainUntil, ...signal }: NewSignal): Promise<void> {
    const { signals, ordered } = this.#queue(key);
    if (signals.has(signal.signalId)) return;
    const entry: Entry = { signal: frozenCopy({ ...signal, state: 'free' as const }), payload: frozenCopy(payload) };
    signals.set(signal.signalId, entry);
    // The list of a key without waiters gets long. Most signals arrive last, so the search starts at the end.
    ordered.splice(ordered.findLastIndex((earlier) => byArrival(earlier, entry) < 0) + 1, 0, entry);
  }

  async payload(key: SignalKey, id: SignalId): Promise<JsonValue | undefined> {
    return this.#queue(key).signals.get(id)?.payload;
  }

  async addWaiter(key: SignalKey, waiter: Waiter, _retainUntil: Instant): Promise<void> {
    this.#queue(key).waiters.set(nameOf(waiter), frozenCopy(waiter));
  }

  async removeWaiter(key: SignalKey, waiter: Waiter): Promise<void> {
    this.#queue(key).waiters.delete(nameOf(waiter));
  }

  async claim(key: SignalKey, id: SignalId, waiter: Waiter): Promise<boolean> {
    const entry = this.#queue(key).signals.get(id);
    if (entry?.signal.state !== 'free') return false;
    entry.signal = frozenCopy({ ...entry.signal, state: 'claimed' as const, by: waiter });
    return true;
  }

  async release(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void> {
    this.#resolveClaim(key, id, waiter, 'free');
  }

  async markTaken(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void> {
    this.#resolveClaim(key, id, waiter, 'taken');
  }

  async recordDelivery(key: SignalKey, id: SignalId, isDelivered: boolean): Promise<boolean> {
    const entry = this.#queue(key).signals.get(id);
    invariant(entry !== undefined, `the delivery of signal ${id} is recorded, but the signal is not stored`);
    return (entry.isDelivered ??= isDelivered);
  }

  #resolveClaim(key: SignalKey, id: SignalId, waiter: Waiter, state: 'free' | 'taken'): void {
    const entry = this.#queue(key).signals.get(id);
    if (entry?.signal.state !== 'claimed' || nameOf(entry.signal.by) !== nameOf(waiter)) return;
    const { by: _by, ...signal } = entry.signal;
    entry.signal = frozenCopy({ ...signal, state });
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

const nameOf = (waiter: Waiter): string => `${waiter.runId}#${nodeKey(waiter)}#${waiter.attempt}`;
const byArrival = ({ signal: one }: Entry, { signal: other }: Entry): number =>
  one.receivedAt - other.receivedAt || compareText(one.signalId, other.signalId);
const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
