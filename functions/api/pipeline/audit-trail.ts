/** Records requests in the audit trail: the key, the origin, the trace, the action and the result. */
import { defined } from '../../../lib/base/defined.ts';
import { errorCatalogue } from '../../../lib/api/errors.ts';
import { bodyHash, parseIdempotencyKey } from '../../../lib/api/idempotency.ts';
import type { Route } from '../../../lib/api/route.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { type Trace, traceFields } from '../../../lib/engine/trace.ts';
import type { ApiKey, AuditEntry } from '../../../lib/ports/control.ts';
import type { SessionIdentity } from '../../../lib/ports/sessions.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { recordAudit } from '../../../lib/service/access/record-audit.ts';
import type { AuditNote } from '../caller.ts';
import type { AnyResponse, CommonTools } from '../operation.ts';
import type { HttpCall } from './http-call.ts';

/** Maximum stored length of the User-Agent header, which the caller controls. */
const userAgentLength = 256;

/** The key of a request, with the session of the person who signed in. */
type AuditedKey = ApiKey & { readonly session?: SessionIdentity };

export interface AuditTrail {
  /** Records a failed authentication, without any part of the presented credential. */
  recordFailedAuthentication(why: string, key: AuditedKey | undefined): Promise<void>;
  /** Records the response of a mutating route: one entry for each authenticated request, with any result. */
  recordResponse(key: AuditedKey | undefined, response: AnyResponse): Promise<void>;
  /** Records a request that threw; it may have taken effect. A failure to record is logged and does not replace the original error. */
  recordError(key: AuditedKey, error: unknown): Promise<void>;
}

/** The audited fields of a route. Opening a socket is not in the route table and is recorded with the same fields. */
type AuditedRoute = Pick<Route, 'method' | 'scope' | 'action'> & { readonly path: string };

export const auditTrail = (
  tools: Pick<CommonTools, 'decider' | 'failures' | 'logger'>,
  route: AuditedRoute,
  call: HttpCall,
  trace: Trace,
): AuditTrail => {
  const { deps } = tools.decider;
  const record = (key: AuditedKey | undefined, action: string, result: AuditEntry['result'], note: AuditNote) =>
    recordAudit(
      deps,
      defined({
        ...callerOf(key, note),
        action,
        resource: note.resource,
        result,
        ip: call.ip,
        userAgent: call.userAgent === undefined ? undefined : call.userAgent.slice(0, userAgentLength),
        metadata: { lane: laneOf(route), ...traceFields(trace), ...note.facts },
      }),
    );
  /** For requests that were refused before their resource was known. */
  const requestNote: AuditNote = { resource: `${route.method} ${route.path}` };
  const common: JsonObject = { deduped: false, ...idempotencyFact(call) };

  return {
    async recordFailedAuthentication(why, key) {
      if (!tools.failures.take(key?.keyId)) return;
      await record(key, 'auth.failure', 'failure', { ...requestNote, facts: { why } });
    },
    async recordResponse(key, response) {
      if (route.action === undefined) return;
      // Without a key, record only requests that were authenticated otherwise, such as webhooks: anyone can send requests.
      if (key === undefined && response.audit === undefined) return;
      const note = response.audit ?? requestNote;
      if (note.failedAuthentication !== undefined) {
        if (!tools.failures.take(undefined)) return;
        const facts = { ...note.facts, why: note.failedAuthentication };
        await record(key, 'auth.failure', 'failure', { ...note, facts });
        return;
      }
      const isRefused = 'refused' in response;
      const outcome = isRefused
        ? { status: errorCatalogue[response.refused].status, code: response.refused }
        : { status: Number(response.status) };
      const facts = { ...common, ...note.facts, ...outcome };
      await record(key, route.action, isRefused ? 'failure' : 'success', { ...note, facts });
    },
    async recordError(key, error) {
      if (route.action === undefined) return;
      const code = error instanceof Unavailable ? 'unavailable' : 'internal';
      const facts = { ...common, status: errorCatalogue[code].status, code };
      try {
        await record(key, route.action, 'failure', { ...requestNote, facts });
      } catch (auditError) {
        tools.logger.warn('audit entry of a failed request could not be written', {
          ...traceFields(trace),
          error: asError(auditError),
        });
      }
    },
  };
};

/** Of a session, only what identifies it: the digest of its secret stays out. */
const callerOf = (key: AuditedKey | undefined, { scope, by }: AuditNote) => {
  const session = key?.session ?? by?.session;
  return {
    keyId: key?.keyId ?? by?.keyId ?? null,
    session: session && { id: session.id, subject: session.subject },
    scope: key === undefined ? (scope ?? null) : { projectId: key.projectId, environment: key.environment },
  };
};

/** Deployed code uses keys with the scope world:proxy. All other callers use the public lane. */
const laneOf = ({ scope }: AuditedRoute): 'public' | 'world_proxy' => (scope === 'world:proxy' ? 'world_proxy' : 'public');

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Hashed, because an idempotency key can contain business data. */
const idempotencyFact = ({ headers }: HttpCall): JsonObject => {
  const key = parseIdempotencyKey(headers['idempotency-key'] ?? '');
  return key === undefined ? {} : { idempotencyKeyHash: bodyHash(key) };
};
