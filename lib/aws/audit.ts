/** The audit trail in the control table: a partition for each scope and day, in the order of time. */
import { controlTableKeys } from '../contract/environment.ts';
import { type Instant, iso } from '../engine/time.ts';
import type { Audit, AuditEntry } from '../ports/control.ts';
import { type Item, expiry, number, packed, present, text } from './attributes.ts';
import { itemVersion } from './item-version.ts';
import { scopeKey } from './run-keys.ts';
import type { Key, Table } from './table.ts';

const isoDateLength = 'yyyy-mm-dd'.length;

/** Entries without a scope (nobody could be told) lie where no project's are: no project id holds a `~`. */
export const auditPartition = (scope: AuditEntry['scope'], at: Instant): string =>
  `${scope === null ? '~' : scopeKey(scope)}#audit#${iso(at).slice(0, isoDateLength)}`;

const auditKey = (id: string, entry: AuditEntry): Key => ({
  pk: auditPartition(entry.scope, entry.at),
  sk: `${iso(entry.at)}#${id}`,
});

export class DynamoAudit implements Audit {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async record(id: string, entry: AuditEntry, expiresAt: Instant): Promise<void> {
    await this.#table.put(auditKey(id, entry), auditAttributes(entry, expiresAt));
  }
}

const auditAttributes = (entry: AuditEntry, expiresAt: Instant): Item => ({
  v: itemVersion,
  [controlTableKeys.expiry]: expiry(expiresAt),
  ...present({
    at: number(entry.at),
    keyId: entry.keyId === null ? undefined : text(entry.keyId),
    action: text(entry.action),
    resource: text(entry.resource),
    result: text(entry.result),
    ip: entry.ip === undefined ? undefined : text(entry.ip),
    userAgent: entry.userAgent === undefined ? undefined : text(entry.userAgent),
    metadata: packed(entry.metadata),
  }),
});
