/** The audit trail in the control table: one partition for each scope and day, ordered by time. */
import * as z from 'zod';
import { jsonObject } from '../codec/events.ts';
import { keyId, sessionId } from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Scope } from '../engine/ids.ts';
import { type Instant, days, instant, iso } from '../engine/time.ts';
import type { Audit, AuditEntry, AuditPage, AuditPosition, RecordedEntry } from '../ports/control.ts';
import { text, anyString, anyInstant, stringOf, jsonOf, optional, nullable, keyPart, itemSchema } from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Key, type Table, firstOf } from './table.ts';

const isoDateLength = 'yyyy-mm-dd'.length;

/** Entries without a scope have a partition of their own: no project id contains `~`. */
export const auditPartition = (scope: AuditEntry['scope'], at: Instant): string =>
  partitionOf('audit', scope === null ? '~' : scopeKey(scope), iso(at).slice(0, isoDateLength));

const auditSort = ({ at, id }: AuditPosition): string => `${iso(at)}#${id}`;
const auditKey = (id: string, entry: AuditEntry): Key => ({
  pk: auditPartition(entry.scope, entry.at),
  sk: auditSort({ at: entry.at, id }),
});

/** How many days are read in parallel after the first. Each day costs a read, also if it is empty. */
const daysAtOnce = 10;
const dayMs = days(1);
/** The start of the moment's day, in UTC. */
const dayOf = (moment: Instant): Instant => instant(Math.floor(moment / dayMs) * dayMs);

export class DynamoAudit implements Audit {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async record(id: string, entry: AuditEntry, expiresAt: Instant): Promise<void> {
    await this.#table.put(auditKey(id, entry), auditItem.encode({ ...entry, id }, expiresAt));
  }

  async listEntries(
    scope: Scope,
    { limit, before, since }: { readonly limit: number; readonly before: AuditPosition; readonly since: Instant },
  ): Promise<AuditPage> {
    const found: RecordedEntry[] = [];
    const oldest = dayOf(since);
    // An empty id excludes the moment itself, which may be the first of its day.
    let day = dayOf(before.id === '' ? instant(before.at - 1) : before.at);
    for (let width = 1; day >= oldest; width = daysAtOnce) {
      const wanted = limit + 1 - found.length;
      const together = Array.from({ length: width }, (_, back) => instant(day - back * dayMs)).filter((one) => one >= oldest);
      const read = await Promise.all(together.map((one) => this.#entriesOf(scope, one, before, wanted)));
      found.push(...read.flat().filter(({ at }) => at >= since));
      const last = found.at(limit - 1);
      if (found.length > limit && last !== undefined) {
        return { entries: found.slice(0, limit), next: { at: last.at, id: last.id } };
      }
      day = instant(day - width * dayMs);
    }
    return { entries: found };
  }

  /** The entries of a day before the position, newest first. */
  async #entriesOf(scope: Scope, day: Instant, before: AuditPosition, limit: number): Promise<readonly RecordedEntry[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      ScanIndexForward: false,
      Limit: limit,
      KeyConditionExpression: 'pk = :pk AND sk < :before',
      ExpressionAttributeValues: { ':pk': text(auditPartition(scope, day)), ':before': text(auditSort(before)) },
    });
    return (await firstOf(items, limit)).map((item) => ({ ...auditItem.decode(item), scope }));
  }
}

const auditItem = itemSchema('an audit entry', {
  id: keyPart(
    'sk',
    z.string().transform((sort) => sort.slice(sort.indexOf('#') + 1)),
  ),
  at: anyInstant,
  keyId: nullable(stringOf(keyId)),
  session: optional(jsonOf(z.object({ id: sessionId, subject: z.string() }))),
  action: anyString,
  resource: anyString,
  result: stringOf(z.enum(['success', 'failure'])),
  ip: optional(anyString),
  userAgent: optional(anyString),
  metadata: jsonOf(jsonObject),
});
