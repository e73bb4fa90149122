/** What the sockets' function works with. */
import { randomBytes } from 'node:crypto';
import { correlationId } from '../../lib/engine/ids.ts';
import { type Trace, traceparent } from '../../lib/engine/trace.ts';
import type { Sockets } from '../../lib/ports/sockets.ts';
import type { Watches } from '../../lib/ports/watches.ts';
import type { Tools } from '../api/tools.ts';
import type { SocketEvent } from './event.ts';

export interface SocketTools extends Pick<Tools, 'decider' | 'authenticator' | 'rates' | 'failures' | 'logger'> {
  readonly sockets: Sockets;
  readonly watches: Watches;
}

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** The gateway's own id of the request, which is in its access log, stands for it in errors and logs. */
export const traceOf = ({ requestContext: { requestId } }: SocketEvent): Trace => ({
  correlationId: correlationId(requestId),
  traceparent: traceparent(`00-${hex(16)}-${hex(8)}-00`),
});
