/**
 * Message ports to the gateway, one for each thread of a function. A request over a port has the same signature and passes the same
 * checks as one over HTTP; only the socket is absent.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { CallRequest, CallResponse } from '../../contract/call-transport.ts';
import { noOrigins } from '../http/caller-guard.ts';
import { checkRequestHead, refusalResponse } from '../http/guarded-server.ts';
import { requestUrl } from '../http/listen.ts';
import { maxUploadBytes } from '../limits.ts';
import type { WireRequest, WireResponse } from './wire.ts';

export interface NumberedRequest extends CallRequest {
  readonly id: number;
}
export interface NumberedResponse extends CallResponse {
  readonly id: number;
}

type Answer = (request: WireRequest) => Promise<WireResponse>;

export interface GatewayPorts {
  /** The port for a thread. It closes when the thread ends. */
  open(): MessagePort;
  close(): void;
}

const withoutBody = (status: number): WireResponse => ({ status, headers: {}, body: Buffer.alloc(0) });

function headersOf(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers[rawHeaders[at] ?? ''] = rawHeaders[at + 1] ?? '';
  return headers;
}

/** The checks that an HTTP server of this cloud makes, and then those of the gateway. */
async function respond({ method, url, headers: rawHeaders, body }: CallRequest, answer: Answer): Promise<WireResponse> {
  const headers = headersOf(rawHeaders);
  const refused = checkRequestHead({ method, url, headers, rawHeaders }, { origins: () => noOrigins });
  if (refused !== undefined) {
    const refusal = refusalResponse(refused);
    return { status: refused.status, headers: refusal.headers, body: Buffer.from(refusal.body) };
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (bytes.length > maxUploadBytes) return withoutBody(413);
  const { pathname: path, searchParams: query } = requestUrl({ url, headers });
  return answer({ method, path, query, url, headers, body: bytes });
}

export function createGatewayPorts(answer: Answer, onError: (error: unknown) => void): GatewayPorts {
  const ports = new Set<MessagePort>();
  return {
    open() {
      const { port1: own, port2: ofThread } = new MessageChannel();
      ports.add(own);
      own.once('close', () => ports.delete(own));
      own.on('message', (request: NumberedRequest) => {
        void respond(request, answer)
          .catch((error: unknown) => {
            onError(error);
            return withoutBody(500);
          })
          .then(({ status, headers, body }) => {
            // A copy: Node allocates small buffers in a shared pool, and a message would contain the whole pool.
            const copy = new Uint8Array(body);
            const response: NumberedResponse = { id: request.id, status, headers, body: copy };
            own.postMessage(response, [copy.buffer]);
          });
      });
      // The listening servers keep the process alive.
      own.unref();
      return ofThread;
    },
    close() {
      for (const port of ports) port.close();
    },
  };
}
