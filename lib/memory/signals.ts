/** Where signals and waits meet, in memory. */
import { type SignalId, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { SignalPlace } from '../engine/signal.ts';
import type { Instant } from '../engine/time.ts';
import type { KeptSignal, Meeting, NewSignal, Signals, Waiter } from '../ports/signals.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

interface Entry {
  signal: KeptSignal;
  readonly payload: JsonValue;
  answered?: boolean;
}

interface Place {
  readonly waiters: Map<string, Waiter>;
  readonly signals: Map<SignalId, Entry>;
  /** the signals in their order */
  readonly inOrder: Entry[];
}

export class MemorySignals implements Signals {
  readonly #places = new Map<string, Place>();

  async at(place: SignalPlace): Promise<Meeting> {
    const { waiters, inOrder } = this.#place(place);
    return {
      waiters: [...waiters.values()].toSorted((one, other) => one.since - other.since || order(nameOf(one), nameOf(other))),
      signals: inOrder.map(({ signal }) => signal),
    };
  }

  async keep(place: SignalPlace, { payload, forgetAt: _forgetAt, ...signal }: NewSignal): Promise<void> {
    const { signals, inOrder } = this.#place(place);
    if (signals.has(signal.signalId)) return;
    const entry: Entry = { signal: kept({ ...signal, state: 'free' as const }), payload: kept(payload) };
    signals.set(signal.signalId, entry);
    // A place that nobody empties gets long, and nearly every signal comes as the last.
    inOrder.splice(inOrder.findLastIndex((earlier) => firstCome(earlier, entry) < 0) + 1, 0, entry);
  }

  async payload(place: SignalPlace, id: SignalId): Promise<JsonValue | undefined> {
    return this.#place(place).signals.get(id)?.payload;
  }

  async enter(place: SignalPlace, waiter: Waiter, _forgetAt: Instant): Promise<void> {
    this.#place(place).waiters.set(nameOf(waiter), kept(waiter));
  }

  async leave(place: SignalPlace, waiter: Waiter): Promise<void> {
    this.#place(place).waiters.delete(nameOf(waiter));
  }

  async claim(place: SignalPlace, id: SignalId, waiter: Waiter): Promise<boolean> {
    const entry = this.#place(place).signals.get(id);
    if (entry?.signal.state !== 'free') return false;
    entry.signal = kept({ ...entry.signal, state: 'claimed' as const, by: waiter });
    return true;
  }

  async release(place: SignalPlace, id: SignalId, waiter: Waiter): Promise<void> {
    this.#settle(place, id, waiter, 'free');
  }

  async take(place: SignalPlace, id: SignalId, waiter: Waiter): Promise<void> {
    this.#settle(place, id, waiter, 'taken');
  }

  async answer(place: SignalPlace, id: SignalId, isDelivered: boolean): Promise<boolean> {
    const entry = this.#place(place).signals.get(id);
    invariant(entry !== undefined, `signal ${id} is answered for, and is not kept`);
    return (entry.answered ??= isDelivered);
  }

  #settle(place: SignalPlace, id: SignalId, waiter: Waiter, state: 'free' | 'taken'): void {
    const entry = this.#place(place).signals.get(id);
    if (entry?.signal.state !== 'claimed' || nameOf(entry.signal.by) !== nameOf(waiter)) return;
    const { by: _by, ...signal } = entry.signal;
    entry.signal = kept({ ...signal, state });
  }

  #place(place: SignalPlace): Place {
    const name = JSON.stringify([scopeName(place), place.name, place.correlation]);
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const fresh: Place = { waiters: new Map(), signals: new Map(), inOrder: [] };
    this.#places.set(name, fresh);
    return fresh;
  }
}

const nameOf = (waiter: Waiter): string => `${waiter.runId}#${nodeKey(waiter)}#${waiter.attempt}`;
const firstCome = ({ signal: one }: Entry, { signal: other }: Entry): number =>
  one.receivedAt - other.receivedAt || order(one.signalId, other.signalId);
const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
