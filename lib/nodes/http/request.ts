/** The request that a config asks for, with everything looked up; and what remains of it behind a redirect. */
import type { ContextView } from '../../engine/graph/context.ts';
import { type SecretValues, resolveTemplate, secretsOf, countedText } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import { invalidHeaderReason } from '../../engine/header-name.ts';
import { isJsonArray } from '../../engine/json.ts';
import type { NodeTools } from '../runner.ts';
import { type HttpConfig, hasNoBody } from './shape.ts';

export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
  /** which headers are for the first origin alone: those in which a secret stands, and those that always are credentials */
  readonly originBoundHeaders: readonly string[];
  /** a secret stands in the body */
  readonly isBodyOriginBound: boolean;
}

/** Or why there is none, in words. */
export function requestOf(
  config: HttpConfig,
  context: ContextView,
  { token, trace }: Pick<NodeTools, 'token' | 'trace'>,
  secrets: SecretValues,
): Outgoing | string {
  const { work } = context;
  const address = withinConfigPath('url', () => countedText(resolveTemplate(config.url, context), work));
  const url = URL.parse(address);
  if (url === null) return `${JSON.stringify(address.slice(0, 200))} is not a whole address`;
  if (url.username !== '' || url.password !== '') return 'an address holds no user and no password: use a header';
  for (const [name, value] of Object.entries(config.query)) {
    withinConfigPath('query', () =>
      withinConfigPath(name, () => {
        const resolved = resolveTemplate(value, context, secrets);
        for (const item of isJsonArray(resolved) ? resolved : [resolved])
          if (item !== null) url.searchParams.append(name, countedText(item, work));
      }),
    );
  }
  const headers = new Headers({ 'user-agent': 'Stepwell' });
  const resolved = withinConfigPath('body', () => resolveTemplate(config.body, context, secrets));
  const body =
    resolved === null || hasNoBody(config.method) ? undefined : withinConfigPath('body', () => countedText(resolved, work));
  if (body !== undefined)
    headers.set('content-type', typeof resolved === 'string' ? 'text/plain;charset=UTF-8' : 'application/json');
  if (config.sendIdempotencyKey && (config.method === 'POST' || config.method === 'PATCH')) headers.set('idempotency-key', token);
  // Before the author's own, which win.
  if (trace !== undefined) headers.set('traceparent', trace.traceparent);
  if (trace !== undefined && config.sendCorrelationId) headers.set('x-workflow-correlation-id', trace.correlationId);
  for (const [name, template] of Object.entries(config.headers)) {
    // Also a query that was stored before this was judged.
    const error = invalidHeaderReason(name);
    if (error !== undefined) return `the header ${JSON.stringify(name.slice(0, 200))} ${error}`;
    const value = withinConfigPath('headers', () =>
      withinConfigPath(name, () => countedText(resolveTemplate(template, context, secrets), work)),
    );
    try {
      headers.set(name, value);
    } catch {
      // The beginning of a secret is part of it.
      const shown = secretsOf(template).length > 0 ? 'what its secret makes of it' : JSON.stringify(value.slice(0, 100));
      return `the header ${name} cannot hold ${shown}`;
    }
  }
  const secretHeaders = Object.keys(config.headers).filter((name) => secretsOf(config.headers[name] ?? null).length > 0);
  const originBoundHeaders = [...credentials, ...secretHeaders];
  return { method: config.method, url, headers, body, originBoundHeaders, isBodyOriginBound: secretsOf(config.body).length > 0 };
}

const credentials = ['authorization', 'cookie'];

/**
 * As fetch does it: 303, and a POST behind 301 or 302, become GET; credentials and secrets stay with their origin, and
 * `forbidden` says that one of them would have to leave it.
 */
export function redirected(request: Outgoing, status: number, location: string): Outgoing | 'forbidden' | undefined {
  const url = URL.parse(location, request.url.href);
  if (url === null) return undefined;
  const headers = new Headers(request.headers);
  const isCrossOrigin = url.origin !== request.url.origin;
  if (isCrossOrigin) for (const name of request.originBoundHeaders) headers.delete(name);
  const becomesGet =
    (status === 303 && !hasNoBody(request.method)) || ((status === 301 || status === 302) && request.method === 'POST');
  if (!becomesGet) return isCrossOrigin && request.isBodyOriginBound ? 'forbidden' : { ...request, url, headers };
  for (const name of ['content-type', 'content-encoding', 'content-language', 'idempotency-key']) headers.delete(name);
  return { ...request, method: 'GET', url, headers, body: undefined, isBodyOriginBound: false };
}

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);
