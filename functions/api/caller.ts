/** Who sent a request, and what its audit entry says besides. */
import type { KeyId, Scope } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import type { Trace } from '../../lib/engine/trace.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import type { SessionIdentity } from '../../lib/ports/sessions.ts';
import type { OpenSession } from '../../lib/service/access/sessions.ts';

/** The authenticated caller of a request. */
export interface CallerContext {
  /** the caller's project and environment; routes without a key ignore it */
  readonly scope: Scope;
  /** the caller's key; undefined on routes that need none */
  readonly caller: KeyId | undefined;
  /** the session of a signed-in person; undefined: a program sent the key */
  readonly session: OpenSession | undefined;
  /** scopes of the key, or of the session */
  readonly scopes: readonly KeyScope[];
  /** trace of the request; runs that it starts continue the trace */
  readonly trace: Trace;
  /**
   * Records the request in the audit trail now, as one that was answered with this status, beside what the operation still waits for. The
   * response has no entry of its own then. Absent: the entry of the response is the only one.
   */
  readonly recordNow?: (response: { readonly status: number; readonly audit: AuditNote }) => void;
  /** Adds work that the response waits for, beside the audit entry. It must not change the response. Absent: the operation waits for it. */
  readonly alongside?: (work: Promise<void>) => void;
}

/** Additional facts for the audit trail entry of a request. */
export interface AuditNote {
  readonly resource: string;
  /** project and environment of the entry, for requests without a key */
  readonly scope?: Scope;
  /** the key and the session that the request used or made, for requests that sign in or out */
  readonly by?: { readonly keyId: KeyId; readonly session: SessionIdentity };
  /** reason of a failed authentication */
  readonly failedAuthentication?: string;
  readonly facts?: JsonObject;
}
