/** In the thread of a function: sends the requests of its AWS clients to the gateway over a message port. */
import type { MessagePort } from 'node:worker_threads';
import type { CallResponse, CallTransport } from '../../contract/call-transport.ts';
import type { NumberedRequest, NumberedResponse } from '../aws/gateway-ports.ts';

export function gatewayTransport(port: MessagePort): CallTransport {
  const pending = new Map<number, PromiseWithResolvers<CallResponse>>();
  let lastId = 0;
  let hasEnded = false;
  const ended = (): Error => Object.assign(new Error('The gateway of the embedded cloud has ended'), { code: 'ECONNRESET' });
  const take = (id: number): PromiseWithResolvers<CallResponse> | undefined => {
    const request = pending.get(id);
    pending.delete(id);
    // As with sockets, only pending requests keep the thread alive.
    if (pending.size === 0) port.unref();
    return request;
  };
  port.on('message', (response: NumberedResponse) => take(response.id)?.resolve(response));
  port.once('close', () => {
    hasEnded = true;
    for (const id of pending.keys()) take(id)?.reject(ended());
  });
  port.unref();
  return {
    send(request) {
      if (hasEnded) return Promise.reject(ended());
      const response = Promise.withResolvers<CallResponse>();
      lastId += 1;
      pending.set(lastId, response);
      port.ref();
      const numbered: NumberedRequest = { ...request, id: lastId };
      port.postMessage(numbered);
      return response.promise;
    },
  };
}
