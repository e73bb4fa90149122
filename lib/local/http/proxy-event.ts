/** An HTTP request as the event of a Lambda proxy integration: of a REST API, or of an HTTP API with payload format 1.0. */
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { awsEnvironment } from '../aws-environment.ts';
import type { HttpRoute, HttpRoutes } from './http-routes.ts';
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

/** The parts that differ between the two kinds of API. */
interface EventParts {
  readonly apiId: string;
  readonly stage: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly pathParameters: Readonly<Record<string, string>>;
  /** path of the request context */
  readonly contextPath: string;
  readonly isBase64Encoded: boolean;
  readonly headers: Record<string, string[]>;
}

export function proxyEvent(received: ReceivedRequest, route: Route, routes: Routes): APIGatewayProxyEvent {
  const { request, url, body } = received;
  return eventOf(received, {
    apiId: routes.apiId,
    stage: routes.stage,
    resource: route.resource,
    resourceId: route.resourceId,
    pathParameters: route.pathParameters,
    contextPath: `/${routes.stage}${url.pathname}`,
    isBase64Encoded: body.length > 0 && isBinary(request.headers['content-type'] ?? '', routes.binaryMediaTypes),
    headers: headersOf(request),
  });
}

/** An HTTP API decides by the content type: https://aws.amazon.com/blogs/compute/handling-binary-data-using-amazon-api-gateway-http-apis/ */
const textTypes = /^(?:text\/.*|application\/(?:json|javascript|xml|.*\+json|.*\+xml))$/;
const isText = (contentType: string): boolean => textTypes.test(contentType.split(';')[0]?.trim().toLowerCase() ?? '');

/**
 * Payload format 1.0: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 * The stage is `$default`, so it is not a part of the path.
 */
export function httpApiEvent(received: ReceivedRequest, route: HttpRoute, routes: HttpRoutes) {
  const { request, url, body } = received;
  const event = eventOf(received, {
    apiId: routes.apiId,
    stage: routes.stage,
    resource: route.resource,
    resourceId: '',
    pathParameters: route.pathParameters,
    contextPath: url.pathname,
    isBase64Encoded: body.length > 0 && !isText(request.headers['content-type'] ?? ''),
    headers: headersOf(request),
  });
  return {
    version: '1.0',
    ...event,
    headers: lowerCase(event.headers),
    multiValueHeaders: lowerCase(event.multiValueHeaders),
    requestContext: { ...event.requestContext, resourceId: null },
  };
}

const lowerCase = <Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function eventOf(received: ReceivedRequest, parts: EventParts): APIGatewayProxyEvent {
  const { request, url, body, requestId, receivedAt } = received;
  const { apiId, stage, resource, resourceId, isBase64Encoded } = parts;
  const sourceIp = (request.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
  const multiValueHeaders = {
    // A caller's own values of these headers are discarded, in any spelling.
    ...Object.fromEntries(Object.entries(parts.headers).filter(([name]) => !/^x-forwarded-(for|proto|port)$/i.test(name))),
    'X-Forwarded-For': [sourceIp],
    'X-Forwarded-Proto': ['http'],
    'X-Forwarded-Port': [String(request.socket.localPort ?? '')],
  };
  const multiValueQuery = grouped(url.searchParams);
  const httpMethod = request.method ?? 'GET';
  return {
    resource,
    path: url.pathname,
    httpMethod,
    headers: lastOfEach(multiValueHeaders),
    multiValueHeaders,
    queryStringParameters: orNull(lastOfEach(multiValueQuery)),
    multiValueQueryStringParameters: orNull(multiValueQuery),
    pathParameters: orNull(parts.pathParameters),
    stageVariables: null,
    requestContext: {
      accountId: awsEnvironment.account,
      apiId,
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
      path: parts.contextPath,
      protocol: `HTTP/${request.httpVersion}`,
      requestId,
      extendedRequestId: requestId,
      requestTime: requestTime(receivedAt),
      requestTimeEpoch: receivedAt.getTime(),
      resourceId,
      resourcePath: resource,
      stage,
    },
    body: body.length === 0 ? null : body.toString(isBase64Encoded ? 'base64' : 'utf8'),
    isBase64Encoded,
  };
}
