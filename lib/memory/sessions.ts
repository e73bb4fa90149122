/** Links that sign in, and sessions, in memory. */
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import { defined } from '../base/defined.ts';
import type { RaisedRights, Session, SessionLink, Sessions } from '../ports/sessions.ts';
import { frozenCopy } from './frozen-copy.ts';

export class MemorySessions implements Sessions {
  readonly #links = new Map<string, { readonly link: SessionLink; takenBy?: Nonce }>();
  readonly #sessions = new Map<string, Session>();

  async putLink(digest: string, link: SessionLink, _retainUntil: Instant): Promise<void> {
    this.#links.set(digest, { link: frozenCopy(link) });
  }

  async link(digest: string): Promise<SessionLink | undefined> {
    return this.#links.get(digest)?.link;
  }

  async redeemLink(digest: string, by: Nonce): Promise<boolean> {
    const entry = this.#links.get(digest);
    if (entry === undefined) return false;
    return (entry.takenBy ??= by) === by;
  }

  async put(digest: string, session: Session): Promise<void> {
    this.#sessions.set(digest, frozenCopy(session));
  }

  async session(digest: string): Promise<Session | undefined> {
    return this.#sessions.get(digest);
  }

  async recordUse(digest: string, at: Instant): Promise<void> {
    const session = this.#sessions.get(digest);
    if (session === undefined || session.lastUsedAt >= at) return;
    this.#sessions.set(digest, frozenCopy({ ...session, lastUsedAt: at }));
  }

  async raise(digest: string, raised: RaisedRights | undefined): Promise<boolean> {
    const session = this.#sessions.get(digest);
    if (session === undefined) return false;
    const { raised: _earlier, ...rest } = session;
    this.#sessions.set(digest, frozenCopy<Session>(defined({ ...rest, raised })));
    return true;
  }

  async delete(digest: string): Promise<void> {
    this.#sessions.delete(digest);
  }
}
