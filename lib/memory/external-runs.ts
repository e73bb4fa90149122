/** External-worker runs in memory. */
import { type ExternalEntry, lastNumber } from '../engine/external/entry.ts';
import type { Instant } from '../engine/time.ts';
import type {
  KeyReservationResult,
  KeyReservation,
  Listing,
  ListingPage,
  ExternalRunAddress,
  ExternalRuns,
  Reminder,
  Sending,
  SignalWaiter,
} from '../ports/external-runs.ts';
import { frozenCopy } from './frozen-copy.ts';

export class MemoryExternalRuns implements ExternalRuns {
  readonly #logs = new Map<string, ExternalEntry[]>();
  readonly #reminders = new Map<string, Map<string, Reminder>>();
  readonly #listings = new Map<string, Map<string, Listing>>();
  readonly #keyReservations = new Map<string, KeyReservation>();
  readonly #waiters = new Map<string, Map<string, SignalWaiter>>();
  readonly #sendings = new Map<string, Sending>();

  async entries(run: ExternalRunAddress, after: number): Promise<readonly ExternalEntry[]> {
    return this.#logs.get(nameOf(run.namespaceId, run.runId))?.filter(({ number }) => number > after) ?? [];
  }

  async append(run: ExternalRunAddress, entry: ExternalEntry, _retainUntil: Instant): Promise<'written' | 'taken'> {
    const log = getOrCreate(this.#logs, nameOf(run.namespaceId, run.runId), () => []);
    const last = log.at(-1);
    if (entry.number === (last === undefined ? 0 : lastNumber(last)) + 1) log.push(frozenCopy(entry));
    return log.find(({ number }) => number === entry.number)?.nonce === entry.nonce ? 'written' : 'taken';
  }

  async addReminder(namespaceId: string, reminder: Reminder, _retainUntil: Instant): Promise<void> {
    getOrCreate(this.#reminders, namespaceId, mapOf<Reminder>).set(reminderName(reminder), frozenCopy(reminder));
  }

  async reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]> {
    return [...(this.#reminders.get(namespaceId)?.values() ?? [])]
      .filter(({ at }) => at <= until)
      .toSorted((one, other) => one.at - other.at)
      .slice(0, limit);
  }

  async deleteReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void> {
    this.#reminders.get(namespaceId)?.delete(reminderName(reminder));
  }

  async putListing(namespaceId: string, listing: Listing, _retainUntil: Instant): Promise<void> {
    const listings = getOrCreate(this.#listings, namespaceId, mapOf<Listing>);
    const existing = listings.get(listing.runId);
    if (existing === undefined || existing.asOf < listing.asOf) listings.set(listing.runId, frozenCopy(listing));
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

  async reserveKey(
    namespaceId: string,
    key: string,
    reservation: KeyReservation,
    notBefore: Instant,
    _retainUntil: Instant,
  ): Promise<KeyReservationResult> {
    const name = nameOf(namespaceId, key);
    const existing = this.#keyReservations.get(name);
    if (existing !== undefined && existing.at >= notBefore) return { kind: 'taken', by: existing };
    this.#keyReservations.set(name, frozenCopy(reservation));
    return { kind: 'reserved' };
  }

  async addWaiter(namespaceId: string, signal: string, waiter: SignalWaiter, _retainUntil: Instant): Promise<void> {
    const waiters = getOrCreate(this.#waiters, nameOf(namespaceId, signal), mapOf<SignalWaiter>);
    const existing = waiters.get(waiter.runId);
    if (existing === undefined || existing.since < waiter.since) waiters.set(waiter.runId, frozenCopy(waiter));
  }

  async waiters(namespaceId: string, signal: string): Promise<readonly SignalWaiter[]> {
    return [...(this.#waiters.get(nameOf(namespaceId, signal))?.values() ?? [])];
  }

  async deleteWaiter(namespaceId: string, signal: string, waiter: SignalWaiter): Promise<void> {
    const waiters = this.#waiters.get(nameOf(namespaceId, signal));
    if (waiters?.get(waiter.runId)?.since === waiter.since) waiters.delete(waiter.runId);
  }

  async sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined> {
    return this.#sendings.get(nameOf(namespaceId, signal, key));
  }

  async beginSending(
    namespaceId: string,
    signal: string,
    key: string,
    sending: Sending,
    _retainUntil: Instant,
  ): Promise<Sending> {
    return getOrCreate(this.#sendings, nameOf(namespaceId, signal, key), () => frozenCopy(sending));
  }

  async endSending(namespaceId: string, signal: string, key: string, reached: Sending['reached']): Promise<void> {
    const name = nameOf(namespaceId, signal, key);
    if (this.#sendings.has(name)) this.#sendings.set(name, frozenCopy({ data: null, targets: [], reached: reached ?? [] }));
  }

  async deleteSending(namespaceId: string, signal: string, key: string): Promise<void> {
    this.#sendings.delete(nameOf(namespaceId, signal, key));
  }
}

const nameOf = (...parts: readonly string[]): string => JSON.stringify(parts);
const reminderName = ({ at, runId, nonce }: Pick<Reminder, 'runId' | 'at' | 'nonce'>): string => nameOf(`${at}`, runId, nonce);
const mapOf = <Value>(): Map<string, Value> => new Map();

function getOrCreate<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const made = make();
  map.set(key, made);
  return made;
}
