/** Answers a request for the console: an asset by its name, and the page for every other path, because the page has the router. */
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type Asset, type ConsoleFiles, contentSecurityPolicy, newNonce } from './page.ts';

export interface ConsoleResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

type ConsoleRequest = Pick<APIGatewayProxyEvent, 'httpMethod' | 'path' | 'pathParameters' | 'headers'>;

const commonHeaders = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const assetPrefix = 'assets/';
/** The name changes with the content. */
const immutable = 'public, max-age=31536000, immutable';
const nothing = Buffer.alloc(0);

export function respondWithConsole(files: ConsoleFiles, request: ConsoleRequest): ConsoleResponse {
  if (request.httpMethod !== 'GET' && request.httpMethod !== 'HEAD') {
    return textResponse(405, 'The console answers GET and HEAD.\n', { allow: 'GET, HEAD' });
  }
  const path = request.pathParameters?.['proxy'] ?? '';
  const response = path.startsWith(assetPrefix)
    ? assetResponse(files.asset(path.slice(assetPrefix.length)), request)
    : pageResponse(files, baseOf(path, request.path));
  return request.httpMethod === 'HEAD' ? { ...response, body: nothing } : response;
}

/**
 * The relative address of the root of the stage, as seen from the page: `./` for `/console`, `../` for `/console/` and `/console/runs`. It
 * depends only on the number of segments, so no text of the request reaches the page.
 */
function baseOf(proxy: string, path: string): string {
  const endsInSlash = path.endsWith('/');
  const segments = proxy.split('/').filter((segment) => segment !== '').length;
  const depth = segments + (endsInSlash ? 1 : 0);
  return depth === 0 ? './' : '../'.repeat(depth);
}

function pageResponse(files: ConsoleFiles, base: string): ConsoleResponse {
  const nonce = newNonce();
  return {
    statusCode: 200,
    headers: {
      ...commonHeaders,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': contentSecurityPolicy(nonce),
    },
    body: Buffer.from(files.page(base, nonce)),
  };
}

function assetResponse(asset: Asset | undefined, request: ConsoleRequest): ConsoleResponse {
  if (asset === undefined)
    return textResponse(404, 'The console has no such file. Reload the page: it may be of an earlier version.\n');
  const accepted = acceptedCodings(headerOf(request, 'accept-encoding'));
  const form = asset.compressed.find(({ coding }) => accepted(coding));
  // Different bytes need different tags.
  const etag = `"${asset.etag}${form === undefined ? '' : `-${form.coding}`}"`;
  const headers = {
    ...commonHeaders,
    'cache-control': immutable,
    etag,
    vary: 'Accept-Encoding',
  };
  if (matches(headerOf(request, 'if-none-match'), etag)) return { statusCode: 304, headers, body: nothing };
  return {
    statusCode: 200,
    headers: {
      ...headers,
      'content-type': asset.contentType,
      ...(form === undefined ? {} : { 'content-encoding': form.coding }),
    },
    body: form?.bytes ?? asset.plain,
  };
}

const textResponse = (statusCode: number, text: string, headers: Readonly<Record<string, string>> = {}): ConsoleResponse => ({
  statusCode,
  headers: {
    ...commonHeaders,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    ...headers,
  },
  body: Buffer.from(text),
});

/** Names of headers keep the spelling of the client. The gateway sends null instead of an empty object. */
const headerOf = ({ headers }: Pick<ConsoleRequest, 'headers'>, wanted: string): string =>
  Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';

/** https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding */
function acceptedCodings(header: string): (coding: string) => boolean {
  const qualities = new Map(
    header.split(',').map((part) => {
      const [coding = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
      const quality = parameters.find((each) => each.startsWith('q='))?.slice(2) ?? '1';
      return [coding, Number(quality)] as const;
    }),
  );
  return (coding) => (qualities.get(coding) ?? qualities.get('*') ?? 0) > 0;
}

const matches = (header: string, etag: string): boolean =>
  header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
