/**
 * HTTP node: sends a request to another service. Only public addresses are reachable, with http and https on any port. Template
 * values are inserted into the URL unchanged; in `query` they are encoded.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { invalidHeaderReason } from '../../engine/header-name.ts';
import { type ConfigFinding, jsonValue } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

export const requestLimits = {
  urlCharacters: 16_384,
  redirects: 5,
  responseBytes: { standard: 1_048_576, max: 5_242_880 },
} as const;

const schema = z.object({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).default('GET'),
  url: z.string().min(1).max(requestLimits.urlCharacters),
  headers: z.record(z.string(), z.string().max(16_384)).default({}),
  /** null is omitted; an array repeats its name */
  query: z.record(z.string(), z.union([scalar, z.array(scalar)])).default({}),
  /** a string is sent unchanged, other values as JSON; null: no body */
  body: jsonValue.default(null),
  /** the node fails from this status on; false: never */
  failOnStatus: z.union([z.literal(false), z.int().min(400).max(599)], 'must be false, or a status from 400 to 599').default(400),
  maxRedirects: z.int().min(0).max(requestLimits.redirects).default(requestLimits.redirects),
  maxResponseBytes: z.int().min(1).max(requestLimits.responseBytes.max).default(requestLimits.responseBytes.standard),
  /** POST and PATCH carry an Idempotency-Key, so that the server can detect a repeated request */
  sendIdempotencyKey: z.boolean().default(true),
  /** off by default, because the correlation id may reveal something about the caller; the trace header is always sent */
  sendCorrelationId: z.boolean().default(false),
});
export type HttpConfig = z.output<typeof schema>;

export const http: NodeShape<typeof schema> = {
  type: 'http',
  defaults: { ...graphDefaults, outputVariable: 'httpResponse' },
  announcesStart: true,
  schema,
  // Not in the URL, which proxies and servers log.
  secretKeys: ['headers', 'query', 'body'],
  handles: () => [mainHandle, errorHandle],
  check: (config) => [...urlFindings(config), ...headerFindings(config), ...bodyFindings(config)],
};

const urlFindings = ({ url }: HttpConfig): readonly ConfigFinding[] => {
  if (url.includes('{{')) return [];
  const parsed = URL.parse(url);
  const isValid = parsed !== null && isHttp(parsed) && parsed.username === '' && parsed.password === '';
  const message = 'must be a complete http or https URL without user and password';
  return isValid ? [] : [{ code: 'config_invalid', path: ['url'], message }];
};

export const isHttp = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:';

const headerFindings = ({ headers }: HttpConfig): readonly ConfigFinding[] =>
  Object.keys(headers).flatMap((name): readonly ConfigFinding[] => {
    const message = invalidHeaderReason(name);
    return message === undefined ? [] : [{ code: 'config_invalid', path: ['headers', name], message }];
  });

const bodyFindings = ({ method, body }: HttpConfig): readonly ConfigFinding[] =>
  body === null || !hasNoBody(method)
    ? []
    : [{ code: 'config_invalid', path: ['body'], message: `a ${method} request has no body` }];

export const hasNoBody = (method: string): boolean => method === 'GET' || method === 'HEAD';
