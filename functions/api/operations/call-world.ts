/** Calls of the World by name instead of by route: from deployed code, through the process that runs it. */
import { randomUUID } from 'node:crypto';
import { type ErrorEntry, errorCatalogue } from '../../../lib/api/errors.ts';
import type { Route } from '../../../lib/api/route.ts';
import type { OperationId } from '../../../lib/api/routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { type Scope, correlationId } from '../../../lib/engine/ids.ts';
import { type JsonValue, isJsonObject } from '../../../lib/engine/json.ts';
import { type Trace, traceparent } from '../../../lib/engine/trace.ts';
import type { WorldAnswer } from '../../../lib/ports/world-calls.ts';
import { type WorldMethod, worldMethods } from '../../../lib/world/calls.ts';
import { refusalText } from '../../../lib/world/errors.ts';
import { worldRoutes as paths } from '../../../lib/world/http-transport.ts';
import { type AnyResponse, asAnyOperations } from '../operation.ts';
import { servedByWorld } from './world.ts';
import type { WorldTools } from './world-calls.ts';

type WorldRoute = Route & { readonly operationId: OperationId };

const operations = asAnyOperations(servedByWorld.operations);
const routes: readonly WorldRoute[] = servedByWorld.routes;
/** By the call's name: its route is that of the HTTP transport. */
const routeOf = new Map(
  worldMethods.map((name) => [
    name,
    routes.find(({ method, path }) => method === paths[name].method && path === paths[name].path),
  ]),
);

export const isWorldMethod = (text: string): text is WorldMethod => worldMethods.some((each) => each === text);

/** @throws Unavailable when the stores cannot be reached now */
export async function callWorld(
  tools: WorldTools,
  { scope, trace }: { readonly scope: Scope; readonly trace: Trace },
  method: WorldMethod,
  body: JsonValue,
): Promise<WorldAnswer> {
  const route = routeOf.get(method);
  const operation = route === undefined ? undefined : operations[route.operationId];
  if (route === undefined || operation === undefined) return refusal(404, 'not_found', `the World has no call ${method}`);
  const parsed = parsedBy(route, body);
  if ('message' in parsed) return refusal(400, 'invalid_request', parsed.message);
  const context = { scope, trace, caller: undefined, session: undefined, scopes: [] };
  const rest = { accept: undefined, idempotencyKey: '', attachment: undefined, raw: new Uint8Array(), headers: {} };
  return answerOf(await operation(tools, { ...context, ...rest, ...parsed }));
}

type Parsed = { readonly params: unknown; readonly query: unknown; readonly body: unknown } | { readonly message: string };

/** The parts of the body that the route has in its path, in its query and in its body. */
function parsedBy(route: WorldRoute, body: JsonValue): Parsed {
  if (!isJsonObject(body)) return { message: 'the body of a call is an object' };
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const entries = Object.entries(body);
  const params = route.params?.safeParse(Object.fromEntries(entries.filter(([name]) => inPath.includes(name))));
  const rest = Object.fromEntries(entries.filter(([name, value]) => !inPath.includes(name) && value !== null));
  const query = route.query?.safeParse(rest);
  const content = route.body?.schema.safeParse(body);
  const issue = [params, query, content].flatMap((each) => each?.error?.issues ?? [])[0];
  if (issue !== undefined) return { message: `/${issue.path.join('/')}: ${issue.message}` };
  return { params: params?.data, query: query?.data, body: content?.data };
}

const refusal = (status: number, code: string, message: string): WorldAnswer => ({ kind: 'refused', status, code, message });

function answerOf(response: AnyResponse): WorldAnswer {
  if ('stream' in response) return refusal(501, 'not_found', 'a call has no stream');
  if ('refused' in response) {
    const { refused: code, details } = response;
    const { status, ...entry }: ErrorEntry = errorCatalogue[code];
    const { retryAfter, ...reasons } = details ?? {};
    return { ...refusal(status, code, refusalText({ ...entry, ...reasons })), ...defined({ retryAfter }) };
  }
  return { kind: 'answered', json: JSON.stringify(response.body) };
}

/** Of random UUIDs, which Node makes in advance. */
const randomHex = (digits: number): string => randomUUID().replaceAll('-', '').slice(0, digits);

/** Of a call that comes from a run, which has a trace of its own. */
export const newTrace = (): Trace => ({
  correlationId: correlationId(randomUUID()),
  traceparent: traceparent(`00-${randomHex(32)}-${randomHex(16)}-00`),
});
