/** Reservations in the control table, and the ports of access: keys, sessions, the audit trail, rate windows. */
import { createHash } from 'node:crypto';
import type { Makers } from '../base/lazy.ts';
import { runId } from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Scope } from '../engine/ids.ts';
import type { Reservation, Reservations, ControlPorts } from '../ports/control.ts';
import { DynamoAudit } from './audit.ts';
import { number, text, anyString, anyInstant, stringOf, itemSchema } from './item-schema.ts';
import { DynamoKeys } from './keys.ts';
import { DynamoRateWindows } from './rate-windows.ts';
import type { Resources } from './resources.ts';
import { scopeKey } from './run-keys.ts';
import { DynamoEmbeds } from './embeds.ts';
import { DynamoSessions } from './sessions.ts';
import { type Key, type Table, partitionName } from './table.ts';

/** The caller's key is arbitrary text, so the item is keyed by its digest. */
const reservationKey = (scope: Scope, endpoint: string, key: string): Key => {
  const digest = createHash('sha256')
    .update(JSON.stringify([endpoint, key]))
    .digest('base64url');
  return { pk: partitionOf('idempotency', scopeKey(scope), digest), sk: 'reservation' };
};

/** Reservations of idempotency keys in the control table. */
export class DynamoReservations implements Reservations {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async reserve(
    scope: Scope,
    endpoint: string,
    key: string,
    reservation: Reservation,
    { notBefore, expiresAt }: Parameters<Reservations['reserve']>[4],
  ): ReturnType<Reservations['reserve']> {
    const attributes = reservationItem.encode(reservation, expiresAt);
    const put = await this.#table.put(reservationKey(scope, endpoint, key), attributes, {
      expression: 'attribute_not_exists(#pk) OR reservedAt < :notBefore',
      names: partitionName,
      values: { ':notBefore': number(notBefore) },
    });
    return put.kind === 'stored' ? { kind: 'reserved' } : { kind: 'taken', by: reservationItem.decode(put.existing) };
  }

  async release(scope: Scope, endpoint: string, key: string, owner: string): Promise<void> {
    await this.#table.delete(reservationKey(scope, endpoint, key), {
      expression: '#owner = :owner',
      names: { '#owner': 'owner' },
      values: { ':owner': text(owner) },
    });
  }
}

const reservationItem = itemSchema('a reservation', {
  runId: stringOf(runId),
  bodyHash: anyString,
  reservedAt: anyInstant,
  owner: anyString,
});

export const controlPorts = (resources: Resources): Makers<ControlPorts> => ({
  keys: () => new DynamoKeys(resources.control),
  reservations: () => new DynamoReservations(resources.control),
  audit: () => new DynamoAudit(resources.control),
  rates: () => new DynamoRateWindows(resources.control),
  embeds: () => new DynamoEmbeds(resources.control),
  sessions: () => new DynamoSessions(resources.control),
});
