/** The sockets' function on the memory world, with events as the gateway sends them. */
import * as z from 'zod';
import { MemoryPosts, MemorySockets, MemoryWatches } from '../../lib/memory/sockets.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { days, hours } from '../../lib/engine/time.ts';
import { evaluatePure, inspectNode, termsOf } from '../../lib/nodes/catalogue.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { toolsOf } from '../../functions/api/operation.ts';
import { socketFunction } from '../../functions/sockets/socket-function.ts';
import type { Http } from './http.ts';

interface Opening {
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SocketApiHere {
  readonly sockets: MemorySockets;
  readonly watches: MemoryWatches;
  readonly posts: MemoryPosts;
  readonly logs: { readonly level: string; readonly message: string; readonly facts: unknown }[];
  /** the status, and the code of a refusal */
  open(id: string, opening?: Opening): Promise<{ readonly status: number; readonly code?: string }>;
  /** what is answered at once; undefined: nothing */
  say(id: string, message: unknown): Promise<Readonly<Record<string, unknown>> | undefined>;
  close(id: string): Promise<void>;
}

const answer = z.object({ statusCode: z.number(), body: z.string().optional() });
const frame = z.record(z.string(), z.unknown());

/** @param corsOrigins of pages that may open sockets; default: any */
export const socketApi = ({ world }: Pick<Http, 'world'>, corsOrigins: readonly string[] = []): SocketApiHere => {
  const deps = { ...world, settings: { retentionMs: days(30), idempotencyMs: hours(24), requiresHttps: true, corsOrigins } };
  const logs: { level: string; message: string; facts: unknown }[] = [];
  const log =
    (level: string) =>
    (message: unknown, ...facts: readonly unknown[]): void =>
      void logs.push({ level, message: String(message), facts: facts[0] });
  const plans = new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure });
  const logger = { info: log('info'), warn: log('warn'), error: log('error') };
  const tools = toolsOf({ decider: { deps, plans, kinds: runKinds, by: 'sockets' }, inspect: inspectNode, logger });
  const [sockets, watches, posts] = [new MemorySockets(), new MemoryWatches(), new MemoryPosts()];
  const handler = socketFunction({ ...tools, sockets, watches });
  let requests = 0;
  const contextOf = (connectionId: string, eventType: string) => ({
    connectionId,
    eventType,
    requestId: `request-${(requests += 1)}=`,
    identity: { sourceIp: '192.0.2.1', userAgent: 'test' },
  });
  return {
    sockets,
    watches,
    posts,
    logs,
    async open(id, { key, query, headers = {} } = {}) {
      const given = {
        'X-Forwarded-Proto': 'https',
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...headers,
      };
      const event = {
        headers: given,
        requestContext: contextOf(id, 'CONNECT'),
        ...(query === undefined ? {} : { queryStringParameters: query }),
      };
      const { statusCode, body } = answer.parse(await handler(event));
      const code = body === undefined ? undefined : z.string().parse(frame.parse(JSON.parse(body))['code']);
      return { status: statusCode, ...(code === undefined ? {} : { code }) };
    },
    async say(id, message) {
      const body = typeof message === 'string' ? message : JSON.stringify(message);
      const answered = answer.parse(await handler({ requestContext: contextOf(id, 'MESSAGE'), body }));
      return answered.body === undefined ? undefined : frame.parse(JSON.parse(answered.body));
    },
    async close(id) {
      answer.parse(await handler({ requestContext: contextOf(id, 'DISCONNECT') }));
    },
  };
};
