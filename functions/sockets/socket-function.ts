/** What the sockets' function is: each event of a socket is answered, whatever goes wrong. */
import { errorCatalogue } from '../../lib/api/errors.ts';
import { envelope } from '../../lib/api/error-body.ts';
import { traceFacts } from '../../lib/engine/trace.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type Refusal, refuse } from '../api/operation.ts';
import { answerMessage, errorFrame } from './answer.ts';
import { type SocketEvent, readSocketEvent } from './event.ts';
import { openSocket } from './open.ts';
import { type SocketTools, traceOf } from './tools.ts';

interface SocketAnswer {
  readonly statusCode: number;
  readonly body?: string;
}

export const socketFunction =
  (tools: SocketTools) =>
  async (given: unknown): Promise<SocketAnswer> => {
    const event = readSocketEvent(given);
    const { eventType, connectionId, requestId } = event.requestContext;
    switch (eventType) {
      case 'CONNECT': {
        const refusal = await attempted(tools, event, () => openSocket(tools, event));
        return refusal === undefined ? { statusCode: 200 } : refusedOpening(refusal, requestId);
      }
      case 'DISCONNECT':
        await attempted(tools, event, () => tools.sockets.close(connectionId));
        return { statusCode: 200 };
      case 'MESSAGE': {
        const answer = await attempted(tools, event, () => answerMessage(tools, event));
        if (answer === undefined) return { statusCode: 200 };
        return { statusCode: 200, body: typeof answer === 'string' ? answer : errorFrame(answer, requestId, undefined) };
      }
    }
  };

/** What was thrown is never the caller's: it is logged, and answered as temporary or ours. */
async function attempted<Answer>(
  { logger }: SocketTools,
  event: SocketEvent,
  work: () => Promise<Answer>,
): Promise<Answer | Refusal> {
  try {
    return await work();
  } catch (trouble) {
    const isTemporary = trouble instanceof Unavailable;
    const error = trouble instanceof Error ? trouble : new Error(String(trouble));
    const facts = { ...traceFacts(traceOf(event)), eventType: event.requestContext.eventType, error };
    if (isTemporary) logger.warn('temporarily unavailable', facts);
    else logger.error('an event of a socket failed', facts);
    return refuse(isTemporary ? 'unavailable' : 'internal');
  }
}

const refusedOpening = ({ refused, details }: Refusal, requestId: string): SocketAnswer => ({
  statusCode: errorCatalogue[refused].status,
  body: JSON.stringify(envelope(refused, requestId, details)),
});
