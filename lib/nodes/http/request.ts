/** The request that a config asks for, with everything looked up; and what remains of it behind a redirect. */
import type { ContextView } from '../../engine/graph/context.ts';
import { asText, resolveTemplate } from '../../engine/graph/template.ts';
import type { NodeTools } from '../runner.ts';
import { type HttpConfig, hasNoBody } from './shape.ts';

export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** Or why there is none, in words. */
export function requestOf(
  config: HttpConfig,
  context: ContextView,
  { token, trace }: Pick<NodeTools, 'token' | 'trace'>,
): Outgoing | string {
  const address = asText(resolveTemplate(config.url, context));
  const url = URL.parse(address);
  if (url === null) return `${JSON.stringify(address.slice(0, 200))} is not a whole address`;
  if (url.username !== '' || url.password !== '') return 'an address holds no user and no password: use a header';
  for (const [name, value] of Object.entries(config.query)) {
    const resolved = resolveTemplate(value, context);
    for (const item of Array.isArray(resolved) ? resolved : [resolved]) {
      if (item !== null) url.searchParams.append(name, asText(item));
    }
  }
  const headers = new Headers({ 'user-agent': 'Stepwell' });
  const resolved = resolveTemplate(config.body, context);
  const body = resolved === null || hasNoBody(config.method) ? undefined : asText(resolved);
  if (body !== undefined)
    headers.set('content-type', typeof resolved === 'string' ? 'text/plain;charset=UTF-8' : 'application/json');
  if (config.sendIdempotencyKey && (config.method === 'POST' || config.method === 'PATCH')) headers.set('idempotency-key', token);
  // Before the author's own, which win.
  if (trace !== undefined) headers.set('traceparent', trace.traceparent);
  if (trace !== undefined && config.sendCorrelationId) headers.set('x-workflow-correlation-id', trace.correlationId);
  for (const [name, template] of Object.entries(config.headers)) {
    const value = asText(resolveTemplate(template, context));
    try {
      headers.set(name, value);
    } catch {
      return `the header ${name} cannot hold ${JSON.stringify(value.slice(0, 100))}`;
    }
  }
  return { method: config.method, url, headers, body };
}

/** As fetch does it: 303, and a POST behind 301 or 302, become GET; credentials stay with their origin. */
export function redirected(request: Outgoing, status: number, location: string): Outgoing | undefined {
  const url = URL.parse(location, request.url.href);
  if (url === null) return undefined;
  const headers = new Headers(request.headers);
  if (url.origin !== request.url.origin) for (const name of ['authorization', 'cookie']) headers.delete(name);
  const becomesGet =
    (status === 303 && !hasNoBody(request.method)) || ((status === 301 || status === 302) && request.method === 'POST');
  if (!becomesGet) return { ...request, url, headers };
  for (const name of ['content-type', 'content-encoding', 'content-language', 'idempotency-key']) headers.delete(name);
  return { method: 'GET', url, headers, body: undefined };
}

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);
