/**
 * The effect server outlives every kill, and records each effect of a node or step when its request arrives. Its
 * response depends on the request and on the number of attempts.
 */
import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export interface Effect {
  /** milliseconds since the epoch, of this machine's clock */
  readonly at: number;
  readonly kind: 'node' | 'step' | 'undo';
  readonly runId: string;
  /** a node's id with its iteration, or a step's key */
  readonly of: string;
  /** a node's span id of the attempt, or a step's attempt number */
  readonly attempt: string;
}

export interface EffectServer {
  readonly port: number;
  readonly effects: Effect[];
  stop(): Promise<void>;
}

export async function openEffectServer(): Promise<EffectServer> {
  const effects: Effect[] = [];
  const attempts = new Map<string, Set<string>>();

  /** @returns the status and the value of the response */
  async function answer(request: IncomingMessage): Promise<readonly [number, unknown]> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://outside');
    const [, kind = '', ...rest] = pathname.split('/').map(decodeURIComponent);
    if (kind === 'step' || kind === 'undo') {
      const [runId = '', of = '', attempt = ''] = rest;
      effects.push({ at: Date.now(), kind, runId, of, attempt });
      return [200, null];
    }
    // `<run>/<node>`, and the span id, which is derived from run, node and attempt
    const token = String(request.headers['idempotency-key']);
    const slash = token.indexOf('/');
    const attempt = String(request.headers['traceparent']).slice(36, 52);
    effects.push({ at: Date.now(), kind: 'node', runId: token.slice(0, slash), of: token.slice(slash + 1), attempt });
    const seen = attempts.get(token) ?? new Set<string>();
    attempts.set(token, seen.add(attempt));
    await wait(Number(searchParams.get('ms') ?? 0));
    const isRefused = [...seen].indexOf(attempt) < Number(searchParams.get('fails') ?? 0);
    return [isRefused ? 503 : 200, { value: JSON.parse(searchParams.get('value') ?? 'null') as unknown }];
  }

  const server = createServer((request, response) => {
    request.resume();
    answer(request).then(
      ([status, value]) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(value));
      },
      (error: unknown) => {
        response.writeHead(500);
        response.end(String(error));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    effects,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
