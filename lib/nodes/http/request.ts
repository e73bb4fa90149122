/** Builds the request of a config with resolved templates, and the follow-up request of a redirect. */
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
  /** headers for the first origin only: headers with a secret, and headers that are always credentials */
  readonly originBoundHeaders: readonly string[];
  /** the body contains a secret */
  readonly isBodyOriginBound: boolean;
}

/** @returns the request, or an error message */
export function requestOf(
  config: HttpConfig,
  context: ContextView,
  { token, trace }: Pick<NodeTools, 'token' | 'trace'>,
  secrets: SecretValues,
): Outgoing | string {
  const { work } = context;
  const address = withinConfigPath('url', () => countedText(resolveTemplate(config.url, context), work));
  const url = URL.parse(address);
  if (url === null) return `${JSON.stringify(address.slice(0, 200))} is not a complete URL`;
  if (url.username !== '' || url.password !== '') return 'a URL must not contain a user or password: use a header';
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
  // Set first, so that the author's headers take precedence.
  if (trace !== undefined) headers.set('traceparent', trace.traceparent);
  if (trace !== undefined && config.sendCorrelationId) headers.set('x-workflow-correlation-id', trace.correlationId);
  for (const [name, template] of Object.entries(config.headers)) {
    // Stored queries may predate this validation.
    const error = invalidHeaderReason(name);
    if (error !== undefined) return `the header ${JSON.stringify(name.slice(0, 200))} ${error}`;
    const value = withinConfigPath('headers', () =>
      withinConfigPath(name, () => countedText(resolveTemplate(template, context, secrets), work)),
    );
    try {
      headers.set(name, value);
    } catch {
      // Even the first characters of a secret must not be shown.
      const shown = secretsOf(template).length > 0 ? 'its value, which contains a secret' : JSON.stringify(value.slice(0, 100));
      return `the header ${name} cannot contain ${shown}`;
    }
  }
  const secretHeaders = Object.keys(config.headers).filter((name) => secretsOf(config.headers[name] ?? null).length > 0);
  const originBoundHeaders = [...credentials, ...secretHeaders];
  return { method: config.method, url, headers, body, originBoundHeaders, isBodyOriginBound: secretsOf(config.body).length > 0 };
}

const credentials = ['authorization', 'cookie'];

/**
 * Follows the rules of fetch: 303, and a POST after 301 or 302, become GET. Credentials and secrets are not sent to another origin;
 * `forbidden` means that the redirect would require that.
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
