/** Handles the WebSocket events: connect, message, disconnect. Every event gets a response, even after an error. */
import { createErrorEnvelope, errorCatalogue } from '../../lib/api/errors.ts';
import { defined } from '../../lib/base/defined.ts';
import { runId } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import { traceFields } from '../../lib/engine/trace.ts';
import type { ApiKey } from '../../lib/ports/control.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type Refusal, refuse } from '../api/operation.ts';
import { auditTrail } from '../api/pipeline/audit-trail.ts';
import { authenticate, checkRate, hasKeyInQuery } from '../api/pipeline/check-key.ts';
import { type HttpCall, isProvenHttps } from '../api/pipeline/http-call.ts';
import { callOf, readSocketEvent, type SocketEvent, type SocketTools, traceOf } from './event.ts';
import { errorFrame, handleMessage } from './handle-message.ts';

interface SocketResponse {
  readonly statusCode: number;
  readonly body?: string;
}

export const socketFunction =
  (tools: SocketTools) =>
  async (rawEvent: unknown): Promise<SocketResponse> => {
    const event = readSocketEvent(rawEvent);
    const { eventType, connectionId, requestId } = event.requestContext;
    switch (eventType) {
      case 'CONNECT': {
        const refusal = await catchErrors(tools, event, () => openSocket(tools, event));
        return refusal === undefined ? { statusCode: 200 } : refuseConnection(refusal, requestId);
      }
      case 'DISCONNECT':
        await catchErrors(tools, event, () => tools.sockets.close(connectionId));
        return { statusCode: 200 };
      case 'MESSAGE': {
        const reply = await catchErrors(tools, event, () => handleMessage(tools, event));
        if (reply === undefined) return { statusCode: 200 };
        return { statusCode: 200, body: typeof reply === 'string' ? reply : errorFrame(reply, requestId, undefined) };
      }
    }
  };

/** An exception is never the caller's error. It is logged, and the response is `unavailable` or `internal`. */
async function catchErrors<Result>(
  { logger }: SocketTools,
  event: SocketEvent,
  operation: () => Promise<Result>,
): Promise<Result | Refusal> {
  try {
    return await operation();
  } catch (thrown) {
    const isTemporary = thrown instanceof Unavailable;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const facts = { ...traceFields(traceOf(event)), eventType: event.requestContext.eventType, error };
    if (isTemporary) logger.warn('temporarily unavailable', facts);
    else logger.error('socket event failed', facts);
    return refuse(isTemporary ? 'unavailable' : 'internal');
  }
}

const refuseConnection = ({ refused, details }: Refusal, requestId: string): SocketResponse => ({
  statusCode: errorCatalogue[refused].status,
  body: JSON.stringify(createErrorEnvelope(refused, requestId, details)),
});

/** The gateway closes a socket after two hours. Five minutes more allow for clock differences between functions. */
const connectionLifetime = minutes(125);

const connectRoute = { method: 'GET', path: '$connect', scope: 'runs:read' } as const;

async function openSocket(tools: SocketTools, event: SocketEvent): Promise<Refusal | undefined> {
  const { deps } = tools.decider;
  const call = callOf(event);
  const trace = traceOf(event);
  if (deps.settings.requiresHttps && !isProvenHttps(call)) return refuse('https_required');
  if (isOriginForbidden(deps.settings, call)) return refuse('request_blocked');
  if (hasKeyInQuery(call)) return refuse('key_in_query');
  const notRecorded = tools.failures.startNewWindow();
  if (notRecorded > 0) tools.logger.warn('failed authentications were not recorded', { ...traceFields(trace), notRecorded });
  const authenticated = await authenticate(tools, { acceptsTicket: true, credential: 'key' }, call);
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

/** Browsers send the page's origin and pages cannot change it; programs send none. Without the setting, every origin is allowed. */
const isOriginForbidden = ({ corsOrigins = [] }: SocketTools['decider']['deps']['settings'], { headers: { origin } }: HttpCall) =>
  origin !== undefined && corsOrigins.length > 0 && !corsOrigins.includes(origin);

/** A failure to record the use does not refuse the connection. */
async function recordKeyUse({ authenticator }: SocketTools, key: ApiKey): Promise<void> {
  try {
    await authenticator.recordUse(key);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}
