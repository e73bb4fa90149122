/** Runs that another library's workers poll for, in memory. */
import { type PolledEntry, lastNumber } from '../engine/polled/entry.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Holding,
  KeyHolder,
  Listing,
  ListingPage,
  PolledAddress,
  PolledRuns,
  Reminder,
  Sending,
  SignalWaiter,
} from '../ports/polled-runs.ts';
import { kept } from './kept.ts';

export class MemoryPolledRuns implements PolledRuns {
  readonly #logs = new Map<string, PolledEntry[]>();
  readonly #reminders = new Map<string, Map<string, Reminder>>();
  readonly #listings = new Map<string, Map<string, Listing>>();
  readonly #holders = new Map<string, KeyHolder>();
  readonly #waiters = new Map<string, Map<string, SignalWaiter>>();
  readonly #sendings = new Map<string, Sending>();

  async entries(run: PolledAddress, after: number): Promise<readonly PolledEntry[]> {
    return this.#logs.get(nameOf(run.namespaceId, run.runId))?.filter(({ number }) => number > after) ?? [];
  }

  async append(run: PolledAddress, entry: PolledEntry, _forgetAt: Instant): Promise<'written' | 'taken'> {
    const log = within(this.#logs, nameOf(run.namespaceId, run.runId), () => []);
    const last = log.at(-1);
    if (entry.number === (last === undefined ? 0 : lastNumber(last)) + 1) log.push(kept(entry));
    return log.find(({ number }) => number === entry.number)?.nonce === entry.nonce ? 'written' : 'taken';
  }

  async remind(namespaceId: string, reminder: Reminder, _forgetAt: Instant): Promise<void> {
    within(this.#reminders, namespaceId, mapOf<Reminder>).set(reminderName(reminder), kept(reminder));
  }

  async reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]> {
    return [...(this.#reminders.get(namespaceId)?.values() ?? [])]
      .filter(({ at }) => at <= until)
      .toSorted((one, other) => one.at - other.at)
      .slice(0, limit);
  }

  async dropReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void> {
    this.#reminders.get(namespaceId)?.delete(reminderName(reminder));
  }

  async enlist(namespaceId: string, listing: Listing, _forgetAt: Instant): Promise<void> {
    const listings = within(this.#listings, namespaceId, mapOf<Listing>);
    const standing = listings.get(listing.runId);
    if (standing === undefined || standing.asOf < listing.asOf) listings.set(listing.runId, kept(listing));
  }

  async listings(namespaceId: string, { from, order, limit }: ListingPage): Promise<readonly Listing[]> {
    const sign = order === 'newest first' ? -1 : 1;
    const byPosition = (one: Pick<Listing, 'createdAt' | 'runId'>, other: Pick<Listing, 'createdAt' | 'runId'>): number =>
      sign * (one.createdAt - other.createdAt || (one.runId < other.runId ? -1 : one.runId === other.runId ? 0 : 1));
    return [...(this.#listings.get(namespaceId)?.values() ?? [])]
      .filter((listing) => from === undefined || byPosition(listing, from) > 0)
      .toSorted(byPosition)
      .slice(0, limit);
  }

  async hold(namespaceId: string, key: string, holder: KeyHolder, notBefore: Instant, _forgetAt: Instant): Promise<Holding> {
    const name = nameOf(namespaceId, key);
    const standing = this.#holders.get(name);
    if (standing !== undefined && standing.at >= notBefore) return { kind: 'taken', by: standing };
    this.#holders.set(name, kept(holder));
    return { kind: 'held' };
  }

  async await(namespaceId: string, signal: string, waiter: SignalWaiter, _forgetAt: Instant): Promise<void> {
    const waiters = within(this.#waiters, nameOf(namespaceId, signal), mapOf<SignalWaiter>);
    const standing = waiters.get(waiter.runId);
    if (standing === undefined || standing.since < waiter.since) waiters.set(waiter.runId, kept(waiter));
  }

  async waiters(namespaceId: string, signal: string): Promise<readonly SignalWaiter[]> {
    return [...(this.#waiters.get(nameOf(namespaceId, signal))?.values() ?? [])];
  }

  async dropWaiter(namespaceId: string, signal: string, waiter: SignalWaiter): Promise<void> {
    const waiters = this.#waiters.get(nameOf(namespaceId, signal));
    if (waiters?.get(waiter.runId)?.since === waiter.since) waiters.delete(waiter.runId);
  }

  async sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined> {
    return this.#sendings.get(nameOf(namespaceId, signal, key));
  }

  async beginSending(namespaceId: string, signal: string, key: string, sending: Sending, _forgetAt: Instant): Promise<Sending> {
    return within(this.#sendings, nameOf(namespaceId, signal, key), () => kept(sending));
  }

  async endSending(namespaceId: string, signal: string, key: string, reached: Sending['reached']): Promise<void> {
    const name = nameOf(namespaceId, signal, key);
    if (this.#sendings.has(name)) this.#sendings.set(name, kept({ data: null, targets: [], reached: reached ?? [] }));
  }

  async dropSending(namespaceId: string, signal: string, key: string): Promise<void> {
    this.#sendings.delete(nameOf(namespaceId, signal, key));
  }
}

const nameOf = (...parts: readonly string[]): string => JSON.stringify(parts);
const reminderName = ({ at, runId, nonce }: Pick<Reminder, 'runId' | 'at' | 'nonce'>): string => nameOf(`${at}`, runId, nonce);
const mapOf = <Value>(): Map<string, Value> => new Map();

function within<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const standing = map.get(key);
  if (standing !== undefined) return standing;
  const made = make();
  map.set(key, made);
  return made;
}
