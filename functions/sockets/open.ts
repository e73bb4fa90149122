/** A socket opens: over HTTPS, with a key in a header or a ticket in the address, and within the key's rate. */
import { defined } from '../../lib/engine/defined.ts';
import { runId } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import { traceFields } from '../../lib/engine/trace.ts';
import type { ApiKey } from '../../lib/ports/control.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type Refusal, refuse } from '../api/operation.ts';
import { auditTrail } from '../api/pipeline/audit-trail.ts';
import { authenticate, checkRate, hasKeyInQuery } from '../api/pipeline/check-key.ts';
import { type HttpCall, isProvenHttps } from '../api/pipeline/http-call.ts';
import { type SocketEvent, callOf } from './event.ts';
import { type SocketTools, traceOf } from './tools.ts';

/** The gateway closes a socket after two hours; the clocks of two functions may differ. */
const connectionLifetime = minutes(125);

const connectRoute = { method: 'GET', path: '$connect', scope: 'runs:read' } as const;

export async function openSocket(tools: SocketTools, event: SocketEvent): Promise<Refusal | undefined> {
  const { deps } = tools.decider;
  const call = callOf(event);
  const trace = traceOf(event);
  if (deps.settings.requiresHttps && !isProvenHttps(call)) return refuse('https_required');
  if (isOriginForbidden(deps.settings, call)) return refuse('request_blocked');
  if (hasKeyInQuery(call)) return refuse('key_in_query');
  const notRecorded = tools.failures.startNewWindow();
  if (notRecorded > 0) tools.logger.warn('failed authentications were not recorded', { ...traceFields(trace), notRecorded });
  const authenticated = await authenticate(tools, { acceptsTicket: true }, call);
  if (authenticated.kind !== 'authenticated') {
    const key = authenticated.kind === 'unauthorized' ? authenticated.key : undefined;
    await auditTrail(tools, connectRoute, call, trace).recordFailedAuthentication(authenticated.why, key);
    return refuse(authenticated.kind);
  }
  const { key } = authenticated;
  const { refusal } = await checkRate(tools, key);
  if (refusal !== undefined) return refusal;
  await recordKeyUse(tools, key);
  await tools.sockets.open(
    defined({
      connectionId: event.requestContext.connectionId,
      scope: { projectId: key.projectId, environment: key.environment },
      keyId: key.keyId,
      onlyRun: call.headers['authorization'] === undefined ? runId(call.params['runId'] ?? '') : undefined,
      expiresAt: after(deps.clock.now(), connectionLifetime),
    }),
  );
  return undefined;
}

/** Browsers send the origin of the page, and no page can write another; programs send none. Without the setting any page may. */
const isOriginForbidden = ({ corsOrigins = [] }: SocketTools['decider']['deps']['settings'], { headers: { origin } }: HttpCall) =>
  origin !== undefined && corsOrigins.length > 0 && !corsOrigins.includes(origin);

/** That it cannot be noted stops nobody. */
async function recordKeyUse({ authenticator }: SocketTools, key: ApiKey): Promise<void> {
  try {
    await authenticator.recordUse(key);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}
