/** A local HTTP server, and host names that resolve to it. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { Address, NetworkAccess } from '../../lib/egress/destination.ts';

export interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Reply = (request: Seen, response: ServerResponse) => void;

export class OtherSide {
  readonly seen: Seen[] = [];
  #reply: Reply = (_request, response) => response.end('ok');
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  answers(reply: Reply): void {
    this.seen.length = 0;
    this.#reply = reply;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  url(path: string, host = 'api.test'): string {
    return `http://${host}:${this.port}${path}`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    const seen = { method, url, headers, body: Buffer.concat(chunks).toString() };
    this.seen.push(seen);
    this.#reply(seen, response);
  }
}

const v4 = (address: string): Address => ({ address, family: 4 });

/** Only 127.0.0.1 is allowed. Each name returns its results in order, and then repeats the last one. */
export const reachOf = (
  more: Record<string, readonly (readonly string[])[]> = {},
): NetworkAccess & { readonly asked: string[] } => {
  const names: Record<string, readonly (readonly string[])[]> = {
    'api.test': [['127.0.0.1']],
    'other.test': [['127.0.0.1']],
    ...more,
  };
  const asked: string[] = [];
  return {
    asked,
    isAllowed: (address) => address === '127.0.0.1',
    resolve: async (name) => {
      const answers = names[name];
      if (answers === undefined) throw new Error(`ENOTFOUND ${name}`);
      const turn = asked.filter((each) => each === name).length;
      asked.push(name);
      return (answers[turn] ?? answers.at(-1) ?? []).map(v4);
    },
  };
};
