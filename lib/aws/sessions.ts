/** Links that sign in, and sessions, in the control table, keyed by the digest of their secret. */
import * as schema from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { RaisedRights, Session, SessionLink, Sessions } from '../ports/sessions.ts';
import { defined } from '../base/defined.ts';
import { anyInstant, anyString, itemSchema, number, optional, stringOf, text } from './item-schema.ts';
import { type Key, type Table, partitionName } from './table.ts';

const linkKey = (digest: string): Key => ({ pk: partitionOf('session-link', digest), sk: 'session-link' });
const sessionKey = (digest: string): Key => ({ pk: partitionOf('session', digest), sk: 'session' });

export class DynamoSessions implements Sessions {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async putLink(digest: string, link: SessionLink, retainUntil: Instant): Promise<void> {
    await this.#table.put(linkKey(digest), linkItem.encode(link, retainUntil));
  }

  async link(digest: string): Promise<SessionLink | undefined> {
    const item = await this.#table.get(linkKey(digest));
    return item && linkItem.decode(item);
  }

  async redeemLink(digest: string, by: Nonce): Promise<boolean> {
    const changed = await this.#table.update(
      linkKey(digest),
      { expression: 'SET takenBy = :by', values: { ':by': text(by) } },
      {
        expression: 'attribute_exists(#pk) AND (attribute_not_exists(takenBy) OR takenBy = :by)',
        names: partitionName,
      },
    );
    return changed !== undefined;
  }

  async put(digest: string, session: Session): Promise<void> {
    const { raised, ...rest } = session;
    const stored = defined({ ...rest, raisedBy: raised?.keyId, raisedUntil: raised?.until });
    await this.#table.put(sessionKey(digest), sessionItem.encode(stored, session.expiresAt));
  }

  async session(digest: string): Promise<Session | undefined> {
    const item = await this.#table.get(sessionKey(digest));
    if (item === undefined) return undefined;
    const { raisedBy, raisedUntil, ...session } = sessionItem.decode(item);
    const raised = raisedBy === undefined || raisedUntil === undefined ? undefined : { keyId: raisedBy, until: raisedUntil };
    return defined({ ...session, raised });
  }

  async recordUse(digest: string, at: Instant): Promise<void> {
    // An update creates a missing item, so the condition keeps a deleted session deleted.
    await this.#table.update(
      sessionKey(digest),
      { expression: 'SET lastUsedAt = :at', values: { ':at': number(at) } },
      { expression: 'attribute_exists(#pk) AND lastUsedAt < :at', names: partitionName },
    );
  }

  async raise(digest: string, raised: RaisedRights | undefined): Promise<boolean> {
    const change =
      raised === undefined
        ? { expression: 'REMOVE raisedBy, raisedUntil' }
        : {
            expression: 'SET raisedBy = :by, raisedUntil = :until',
            values: { ':by': text(raised.keyId), ':until': number(raised.until) },
          };
    const changed = await this.#table.update(sessionKey(digest), change, {
      expression: 'attribute_exists(#pk)',
      names: partitionName,
    });
    return changed !== undefined;
  }

  async delete(digest: string): Promise<void> {
    await this.#table.delete(sessionKey(digest), { expression: 'attribute_exists(#pk)', names: partitionName });
  }
}

const linkItem = itemSchema('a link that signs in', { keyId: stringOf(schema.keyId), expiresAt: anyInstant });

const sessionItem = itemSchema('a session', {
  id: stringOf(schema.sessionId),
  subject: anyString,
  projectId: stringOf(schema.projectId),
  environment: stringOf(schema.environment),
  keyId: stringOf(schema.keyId),
  createdAt: anyInstant,
  expiresAt: anyInstant,
  lastUsedAt: anyInstant,
  // Absent in sessions of earlier versions, and in those that were never raised.
  raisedBy: optional(stringOf(schema.keyId)),
  raisedUntil: optional(anyInstant),
});
