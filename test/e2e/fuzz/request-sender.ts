/** Sends a raw request: paths are not normalised, headers may repeat, bodies may be binary. */
import { Agent, request as begin } from 'node:http';
import type { FuzzResponse } from './check-response.ts';
import type { FuzzRequest } from './requests.ts';

export interface RequestSender {
  send(request: FuzzRequest): Promise<FuzzResponse>;
  close(): void;
}

export const createRequestSender = (url: string): RequestSender => {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  return {
    send: ({ method, target, headers, body }) =>
      new Promise((resolve, reject) => {
        const bytes = body === undefined ? undefined : Buffer.from(body);
        const flat = headers.flatMap(([name, value]) => [name, value]);
        const length = bytes === undefined ? [] : ['Content-Length', String(bytes.length)];
        const outgoing = begin({
          agent,
          hostname,
          port,
          method,
          path: target,
          headers: ['Host', `${hostname}:${port}`, ...flat, ...length],
        });
        outgoing.once('error', reject);
        outgoing.once('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => void chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          );
        });
        outgoing.end(bytes);
      }),
    close: () => agent.destroy(),
  };
};
