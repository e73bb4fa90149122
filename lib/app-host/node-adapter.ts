/** The same responses for `node:http` and frameworks that are built on it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppHost } from './app-host.ts';

/** Returns whether it responded; otherwise the request is untouched. As a middleware it then calls `next`. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<boolean>;

export const nodeHandler =
  (host: AppHost): NodeHandler =>
  async (incoming, outgoing, next) => {
    try {
      const hostResponse = await handleIncoming(host, incoming);
      if (hostResponse !== undefined) {
        outgoing.writeHead(hostResponse.status, Object.fromEntries(hostResponse.headers));
        outgoing.end(await hostResponse.text());
        return true;
      }
    } catch (error) {
      if (next === undefined) throw error;
      next(error);
      return false;
    }
    next?.();
    return false;
  };

/** Methods that the Request class refuses. */
const unsupportedMethods: readonly string[] = ['CONNECT', 'TRACE', 'TRACK'];

const handleIncoming = async (host: AppHost, incoming: IncomingMessage): Promise<Response | undefined> => {
  const { method = 'GET', url = '/' } = incoming;
  // The host does not matter here, so the caller's Host header is not used.
  const base = 'http://host.invalid';
  if (!URL.canParse(url, base)) return undefined;
  const address = new URL(url, base);
  if (unsupportedMethods.includes(method) || !host.matches(method, address.pathname)) return undefined;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) headers.append(name, each);
  const hasBody = method !== 'GET' && method !== 'HEAD' && !incoming.readableEnded;
  const body = hasBody ? { body: bodyOf(incoming), duplex: 'half' as const } : {};
  return host.handle(new Request(new URL(address.pathname, base), { method, headers, ...body }));
};

/** Reads lazily: Node's server discards a body that is never read. */
const bodyOf = (incoming: IncomingMessage): ReadableStream<Uint8Array> => {
  let hasBegun = false;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (hasBegun) return void incoming.resume();
        hasBegun = true;
        incoming.on('data', (chunk: Buffer) => {
          incoming.pause();
          controller.enqueue(chunk);
        });
        incoming.once('end', () => controller.close());
        incoming.once('error', (error) => controller.error(error));
      },
      // Read the rest, so that the connection can be reused.
      cancel: () => {
        for (const event of ['data', 'end', 'error']) incoming.removeAllListeners(event);
        incoming.on('error', () => undefined).resume();
      },
    },
    { highWaterMark: 0 },
  );
};
