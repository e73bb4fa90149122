/** What the sockets' function is: each event of a socket is answered, whatever goes wrong. */
import { errorCatalogue } from '../../lib/api/errors.ts';
import { createErrorEnvelope } from '../../lib/api/error-body.ts';
import { traceFields } from '../../lib/engine/trace.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type Refusal, refuse } from '../api/operation.ts';
import { handleMessage, errorFrame } from './handle-message.ts';
import { type SocketEvent, readSocketEvent } from './event.ts';
import { openSocket } from './open.ts';
import { type SocketTools, traceOf } from './tools.ts';

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

/** What was thrown is never the caller's: it is logged, and answered as temporary or ours. */
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
    else logger.error('an event of a socket failed', facts);
    return refuse(isTemporary ? 'unavailable' : 'internal');
  }
}

const refuseConnection = ({ refused, details }: Refusal, requestId: string): SocketResponse => ({
  statusCode: errorCatalogue[refused].status,
  body: JSON.stringify(createErrorEnvelope(refused, requestId, details)),
});
