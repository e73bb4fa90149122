/** Forwards a request to an emulator behind a local socket, over persistent connections. */
import { Agent, request as open } from 'node:http';
import type { WireRequest, WireResponse } from '../aws/wire.ts';

export type Forward = (request: WireRequest) => Promise<WireResponse>;

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect']);

export function forwardTo(socketPath: string): Forward {
  // FIFO would reuse the connection that has idled longest, which the emulator may just have closed.
  const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: 'lifo' });
  return (request) =>
    new Promise((resolve, reject) => {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(request.headers)) if (!hopByHop.has(name)) headers[name] = value;
      headers['content-length'] = String(request.body.length);
      const outgoing = open({ socketPath, agent, method: request.method, path: request.url, headers }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const responseHeaders: Record<string, string> = {};
          for (const [name, value] of Object.entries(incoming.headers)) {
            if (typeof value === 'string' && !hopByHop.has(name)) responseHeaders[name] = value;
          }
          resolve({ status: incoming.statusCode ?? 502, headers: responseHeaders, body: Buffer.concat(chunks) });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(request.body);
    });
}

/** Calls a DynamoDB operation on the emulator directly, for deployments: no function has the permission. */
export type CallDynamodb = (operation: string, input: object) => Promise<{ status: number; output: unknown }>;

export const createDynamodbCaller =
  (forward: Forward): CallDynamodb =>
  async (operation, input) => {
    const response = await forward({
      method: 'POST',
      path: '/',
      url: '/',
      query: new URLSearchParams(),
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${operation}`,
        // The emulator requires a signature's format and does not check it.
        authorization:
          'AWS4-HMAC-SHA256 Credential=LOCAL/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
        'x-amz-date': '20260101T000000Z',
      },
      body: Buffer.from(JSON.stringify(input)),
    });
    return { status: response.status, output: JSON.parse(response.body.toString('utf8') || '{}') };
  };
