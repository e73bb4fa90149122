/** An HTTP request as the event of a Lambda proxy integration of a REST API (payload version 1.0). */
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { awsEnvironment } from '../aws-environment.ts';
import type { Route, Routes } from './routes.ts';

export interface ReceivedRequest {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly body: Buffer;
  readonly requestId: string;
  readonly receivedAt: Date;
}

function grouped(pairs: Iterable<readonly [string, string]>): Record<string, string[]> {
  // Without a prototype: a name may be any text, also that of a member of every object.
  const groups = new Map<string, string[]>();
  for (const [name, value] of pairs) groups.set(name, [...(groups.get(name) ?? []), value]);
  return Object.fromEntries(groups);
}

const lastOfEach = (groups: Record<string, string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(groups).map(([name, values]) => [name, values.at(-1) ?? '']));

/** Names as the client spelled them. Two spellings of one header are one entry under the first. */
function headersOf({ rawHeaders }: IncomingMessage): Record<string, string[]> {
  const spelling = new Map<string, string>();
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const known = spelling.get(name.toLowerCase()) ?? name;
    spelling.set(name.toLowerCase(), known);
    pairs.push([known, rawHeaders[at + 1] ?? '']);
  }
  return grouped(pairs);
}

const isBinary = (contentType: string, types: readonly string[]): boolean => {
  const media = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  return types.some(
    (type) => type === '*/*' || type.toLowerCase() === media || (type.endsWith('/*') && media.startsWith(type.slice(0, -1))),
  );
};

const orNull = <Value extends object>(value: Value): Value | null => (Object.keys(value).length === 0 ? null : value);

/** `10/Oct/2026:13:55:36 +0000` */
const requestTime = (at: Date): string => {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
};

export function proxyEvent(received: ReceivedRequest, route: Route, routes: Routes): APIGatewayProxyEvent {
  const { request, url, body, requestId, receivedAt } = received;
  const sourceIp = (request.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
  const multiValueHeaders = {
    // A caller's own values of these headers are discarded, in any spelling.
    ...Object.fromEntries(Object.entries(headersOf(request)).filter(([name]) => !/^x-forwarded-(for|proto|port)$/i.test(name))),
    'X-Forwarded-For': [sourceIp],
    'X-Forwarded-Proto': ['http'],
    'X-Forwarded-Port': [String(request.socket.localPort ?? '')],
  };
  const multiValueQuery = grouped(url.searchParams);
  const isBase64Encoded = body.length > 0 && isBinary(request.headers['content-type'] ?? '', routes.binaryMediaTypes);
  const httpMethod = request.method ?? 'GET';
  return {
    resource: route.resource,
    path: url.pathname,
    httpMethod,
    headers: lastOfEach(multiValueHeaders),
    multiValueHeaders,
    queryStringParameters: orNull(lastOfEach(multiValueQuery)),
    multiValueQueryStringParameters: orNull(multiValueQuery),
    pathParameters: orNull(route.pathParameters),
    stageVariables: null,
    requestContext: {
      accountId: awsEnvironment.account,
      apiId: routes.apiId,
      authorizer: null,
      domainName: url.host,
      httpMethod,
      identity: {
        accessKey: null,
        accountId: null,
        apiKey: null,
        apiKeyId: null,
        caller: null,
        clientCert: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp,
        user: null,
        userAgent: request.headers['user-agent'] ?? null,
        userArn: null,
      },
      path: `/${routes.stage}${url.pathname}`,
      protocol: `HTTP/${request.httpVersion}`,
      requestId,
      extendedRequestId: requestId,
      requestTime: requestTime(receivedAt),
      requestTimeEpoch: receivedAt.getTime(),
      resourceId: route.resourceId,
      resourcePath: route.resource,
      stage: routes.stage,
    },
    body: body.length === 0 ? null : body.toString(isBase64Encoded ? 'base64' : 'utf8'),
    isBase64Encoded,
  };
}
