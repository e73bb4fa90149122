/** Idempotency reservations and rate windows in memory. */
import type { KeyId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { RateWindows, Reservation, Reservations } from '../ports/control.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

export class MemoryReservations implements Reservations {
  readonly #reservations = new Map<string, Reservation>();

  async reserve(
    scope: Scope,
    endpoint: string,
    key: string,
    reservation: Reservation,
    { notBefore }: { readonly notBefore: Instant },
  ): ReturnType<Reservations['reserve']> {
    const name = reservationName(scope, endpoint, key);
    const existing = this.#reservations.get(name);
    if (existing !== undefined && existing.reservedAt >= notBefore) return { kind: 'taken', by: existing };
    this.#reservations.set(name, frozenCopy(reservation));
    return { kind: 'reserved' };
  }

  async release(scope: Scope, endpoint: string, key: string, owner: string): Promise<void> {
    const name = reservationName(scope, endpoint, key);
    if (this.#reservations.get(name)?.owner === owner) this.#reservations.delete(name);
  }
}

const reservationName = (scope: Scope, endpoint: string, key: string): string =>
  JSON.stringify([scopeName(scope), endpoint, key]);

export class MemoryRateWindows implements RateWindows {
  readonly #taken = new Map<string, number>();

  async take(keyId: KeyId, windowStart: Instant, count: number): Promise<number> {
    const window = `${keyId}#${windowStart}`;
    const total = (this.#taken.get(window) ?? 0) + count;
    this.#taken.set(window, total);
    return total;
  }
}
