/** What the audit trail says of a request: who, from where, under which trace, what was asked for, and how it ended. */
import { defined } from '../../../lib/engine/defined.ts';
import { errorCatalogue } from '../../../lib/api/errors.ts';
import { bodyHash, parseIdempotencyKey } from '../../../lib/api/idempotency.ts';
import type { Route } from '../../../lib/api/route.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { type Trace, traceFields } from '../../../lib/engine/trace.ts';
import type { ApiKey, AuditEntry } from '../../../lib/ports/control.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { recordAudit } from '../../../lib/service/access/record-audit.ts';
import type { AnyResponse, AuditNote } from '../operation.ts';
import type { Tools } from '../tools.ts';
import type { HttpCall } from './http-call.ts';

/** A user agent is the caller's to write, and is kept only as long as one usually is. */
const userAgentLength = 256;

export interface AuditTrail {
  /** Nothing of what was presented is kept: neither a secret nor what only looks like one. */
  recordFailedAuthentication(why: string, key: ApiKey | undefined): Promise<void>;
  /** Of a route that changes something: each request of a known key leaves one entry, whatever it was answered. */
  recordResponse(key: ApiKey | undefined, response: AnyResponse): Promise<void>;
  /** The request broke: what it asked for may have been done. That it cannot be recorded does not hide why. */
  recordError(key: ApiKey, error: unknown): Promise<void>;
}

/** What is said of a route; a socket's opening is none of the table, and is recorded like one. */
type AuditedRoute = Pick<Route, 'method' | 'scope' | 'action'> & { readonly path: string };

export const auditTrail = (
  tools: Pick<Tools, 'decider' | 'failures' | 'logger'>,
  route: AuditedRoute,
  call: HttpCall,
  trace: Trace,
): AuditTrail => {
  const { deps } = tools.decider;
  const record = (key: ApiKey | undefined, action: string, result: AuditEntry['result'], { resource, scope, facts }: AuditNote) =>
    recordAudit(
      deps,
      defined({
        keyId: key?.keyId ?? null,
        scope: key === undefined ? (scope ?? null) : { projectId: key.projectId, environment: key.environment },
        action,
        resource,
        result,
        ip: call.ip,
        userAgent: call.userAgent === undefined ? undefined : call.userAgent.slice(0, userAgentLength),
        metadata: { lane: laneOf(route), ...traceFields(trace), ...facts },
      }),
    );
  /** Where the request was refused before it was known what it is about. */
  const requestNote: AuditNote = { resource: `${route.method} ${route.path}` };
  const common: JsonObject = { deduped: false, ...idempotencyFact(call) };

  return {
    async recordFailedAuthentication(why, key) {
      if (!tools.failures.take(key?.keyId)) return;
      await record(key, 'auth.failure', 'failure', { ...requestNote, facts: { why } });
    },
    async recordResponse(key, response) {
      if (route.action === undefined) return;
      // Without a key only whoever proved itself otherwise is heard of: anybody may send anything.
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
        tools.logger.warn('a broken request could not be recorded', { ...traceFields(trace), error: asError(auditError) });
      }
    },
  };
};

/** Keys of world:proxy are what a deployment's own code uses; everybody else comes by the public lane. */
const laneOf = ({ scope }: AuditedRoute): 'public' | 'world_proxy' => (scope === 'world:proxy' ? 'world_proxy' : 'public');

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** The key itself may say something about the caller's business. */
const idempotencyFact = ({ headers }: HttpCall): JsonObject => {
  const key = parseIdempotencyKey(headers['idempotency-key'] ?? '');
  return key === undefined ? {} : { idempotencyKeyHash: bodyHash(key) };
};
