/** The HTTP API of the embedded cloud: which route answers, the event of payload format 1.0, throttling, and the gateway's own errors. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { httpApiListener, startApiPath } from '../../lib/local/http/http-api.ts';
import { readHttpRoutes } from '../../lib/local/http/http-routes.ts';
import { guardedServer } from '../../lib/local/http/guarded-server.ts';
import { type Listening, listen } from '../../lib/local/http/listen.ts';
import type { LambdaFunction } from '../../lib/local/lambda/function.ts';
import { createRecorder, type RecordedCall } from '../../lib/local/recorder.ts';
import { readSocketRoutes } from '../../lib/local/sockets/socket-routes.ts';
import { functionOf, templateOf } from './stacks.ts';

const ApiId = { Ref: 'Http' };

/** @param keys of routes, all of them to the function `Fn` */
const httpApi = (keys: readonly string[], changed: Readonly<Record<string, object>> = {}) => ({
  ...functionOf('Fn', 'a', []),
  Http: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'http', ProtocolType: 'HTTP', ...changed['Api'] } },
  HttpStage: {
    Type: 'AWS::ApiGatewayV2::Stage',
    Properties: {
      ApiId,
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 10, ThrottlingBurstLimit: 3 },
      ...changed['Stage'],
    },
  },
  HttpIntegration: {
    Type: 'AWS::ApiGatewayV2::Integration',
    Properties: {
      ApiId,
      IntegrationType: 'AWS_PROXY',
      IntegrationUri: { 'Fn::GetAtt': ['Fn', 'Arn'] },
      PayloadFormatVersion: '1.0',
      ...changed['Integration'],
    },
  },
  ...Object.fromEntries(
    keys.map((RouteKey, at) => [
      `HttpRoute${at}`,
      {
        Type: 'AWS::ApiGatewayV2::Route',
        Properties: {
          ApiId,
          RouteKey,
          Target: { 'Fn::Join': ['', ['integrations/', { Ref: 'HttpIntegration' }]] },
          ...changed['Route'],
        },
      },
    ]),
  ),
});

describe('routes', () => {
  const routes = readHttpRoutes(
    templateOf(
      httpApi([
        '$default',
        'ANY /{proxy+}',
        'GET /pets/{proxy+}',
        'GET /pets/dog/{id}',
        'ANY /pets/dog/{id}',
        'GET /pets/dog/1',
        'POST /v1/runs',
      ]),
    ),
  );
  const find = (method: string, path: string) => {
    const route = routes?.find(method, path);
    return route === undefined ? undefined : { resource: route.resource, ...route.pathParameters };
  };

  // The examples of https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
  test.each([
    ['GET', '/pets/dog/1', { resource: '/pets/dog/1' }],
    ['GET', '/pets/dog/2', { resource: '/pets/dog/{id}', id: '2' }],
    ['POST', '/pets/dog/2', { resource: '/pets/dog/{id}', id: '2' }],
    ['GET', '/pets/cat/1', { resource: '/pets/{proxy+}', proxy: 'cat/1' }],
    ['POST', '/test/5', { resource: '/{proxy+}', proxy: 'test/5' }],
    ['GET', '/pets/dog/a%20b', { resource: '/pets/dog/{id}', id: 'a b' }],
    ['POST', '/v1/runs', { resource: '/v1/runs' }],
    ['POST', '/v1/runs/', { resource: '/{proxy+}', proxy: 'v1/runs/' }],
  ])('%s %s', (method, path, expected) => {
    expect(find(method, path)).toEqual(expected);
  });

  test('without a greedy route and without $default, nothing else answers', () => {
    const few = readHttpRoutes(templateOf(httpApi(['POST /v1/runs', 'GET /v1/runs/{runId}'])));
    const paths = ['/v1/runs/', '/v1//runs', '//v1/runs', '/v1/runs/a/b', '/V1/runs', '/v1/runs%2F', '/', ''];
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const path of paths) expect([method, path, few?.find(method, path)]).toEqual([method, path, undefined]);
    }
    expect([few?.find('GET', '/v1/runs'), few?.find('DELETE', '/v1/runs/a')]).toEqual([undefined, undefined]);
  });

  test('a template has one HTTP API beside the WebSocket API, and none is undefined', () => {
    expect(readHttpRoutes(templateOf(functionOf('Fn', 'a', [])))).toBeUndefined();
    expect(readSocketRoutes(templateOf(httpApi(['GET /a'])))).toBeUndefined();
  });

  test.each([
    ['a stage that is a part of the path', { Stage: { StageName: 'prod' } }, /StageName/],
    ['a stage that nothing deploys to', { Stage: { AutoDeploy: false } }, /AutoDeploy/],
    ['payload format 2.0', { Integration: { PayloadFormatVersion: '2.0' } }, /PayloadFormatVersion/],
    ['no payload format', { Integration: { PayloadFormatVersion: undefined } }, /PayloadFormatVersion/],
    ['a longer time than API Gateway allows', { Integration: { TimeoutInMillis: 30_001 } }, /TimeoutInMillis/],
    ['an authorizer', { Route: { AuthorizationType: 'JWT' } }, /AuthorizationType/],
    ['a target of another API', { Route: { Target: 'integrations/other' } }, /no integration/],
    ['CORS of the gateway', { Api: { CorsConfiguration: { AllowOrigins: ['*'] } } }, /CorsConfiguration/],
    ['a closed address', { Api: { DisableExecuteApiEndpoint: true } }, /DisableExecuteApiEndpoint/],
  ])('refuses %s', (_what, changed, message) => {
    expect(() => readHttpRoutes(templateOf(httpApi(['GET /a'], changed)))).toThrow(message);
  });
});

/** Echoes its event, or does what the body says. */
const echo = {
  invoke: async (event: string) => {
    const { body } = z.object({ body: z.string().nullable() }).parse(JSON.parse(event));
    if (body === 'fail') return { kind: 'failed', error: { errorType: 'Error', errorMessage: 'as requested' } };
    if (body === 'nonsense') return { kind: 'returned', payload: '"nonsense"' };
    if (body === 'slow') return new Promise(() => undefined);
    if (body === 'throttled') return { kind: 'refused', code: 'TooManyRequestsException', message: '' };
    if (body === 'large') return { kind: 'refused', code: 'RequestTooLargeException', message: '' };
    return { kind: 'returned', payload: JSON.stringify({ statusCode: 201, headers: { 'X-One': '1' }, body: event }) };
  },
};

let server: Listening;
let now = 0;
const calls: RecordedCall[] = [];
beforeAll(async () => {
  const routes = readHttpRoutes(
    templateOf(httpApi(['POST /v1/runs', 'GET /v1/runs/{runId}'], { Integration: { TimeoutInMillis: 50 } })),
  );
  if (routes === undefined) throw new Error('no routes');
  const recorder = createRecorder();
  recorder.listen((call) => void calls.push(call));
  const functionOfArn = (): LambdaFunction => Object.assign(Object.create(null), echo);
  const listener = httpApiListener({ routes, recorder, functionOf: functionOfArn, warn: () => undefined, now: () => now });
  server = await listen(guardedServer(listener, { origins: () => undefined }), 0);
});
afterAll(() => server.close());

const send = async (method: string, path: string, body?: string, headers: Readonly<Record<string, string>> = {}) => {
  // Refills the bucket.
  now += 1_000;
  const response = await fetch(`${server.url}${startApiPath}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
};

describe('a request', () => {
  test('becomes the event of payload format 1.0: without the local path, with names of headers in lower case', async () => {
    const { status, headers, body } = await send('GET', '/v1/runs/a%20b?x=1&x=2', undefined, {
      'X-Mine': 'yes',
      'X-Forwarded-For': '203.0.113.9',
      'X-Forwarded-Proto': 'https',
    });
    expect([status, headers.get('x-one'), headers.has('apigw-requestid')]).toEqual([201, '1', true]);
    expect(JSON.parse(body)).toMatchObject({
      version: '1.0',
      resource: '/v1/runs/{runId}',
      path: '/v1/runs/a%20b',
      httpMethod: 'GET',
      headers: { 'x-mine': 'yes', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' },
      multiValueHeaders: { 'x-mine': ['yes'], 'x-forwarded-for': ['127.0.0.1'] },
      queryStringParameters: { x: '2' },
      multiValueQueryStringParameters: { x: ['1', '2'] },
      pathParameters: { runId: 'a b' },
      body: null,
      isBase64Encoded: false,
      requestContext: {
        stage: '$default',
        path: '/v1/runs/a%20b',
        resourcePath: '/v1/runs/{runId}',
        resourceId: null,
        identity: { sourceIp: '127.0.0.1' },
      },
    });
    const names = z.object({ headers: z.record(z.string(), z.string()) }).parse(JSON.parse(body)).headers;
    expect(Object.keys(names).filter((name) => name !== name.toLowerCase())).toEqual([]);
    expect(body).not.toContain(startApiPath);
  });

  test.each([
    ['application/json', '{}', false],
    ['application/json; charset=utf-8', '{}', false],
    ['application/problem+json', '{}', false],
    ['text/plain', 'a', false],
    ['application/xml', '<a/>', false],
    ['application/x-www-form-urlencoded', 'a=1', true],
    ['application/octet-stream', 'a', true],
  ])('of type %s has a body in base64 or as text', async (type, sent, isBase64Encoded) => {
    const event = z
      .object({ body: z.string(), isBase64Encoded: z.boolean() })
      .parse(JSON.parse((await send('POST', '/v1/runs', sent, { 'content-type': type })).body));
    expect(event).toEqual({ body: isBase64Encoded ? btoa(sent) : sent, isBase64Encoded });
  });

  test('is recorded as one of the HTTP API, by its route', async () => {
    await send('GET', '/v1/runs/one');
    expect(calls.at(-1)).toMatchObject({ service: 'apigatewayv2', operation: 'GET /v1/runs/{runId}', status: 201 });
  });
});

test.each([
  ['of no route', 'GET', '/v1/runs', undefined, 404, 'Not Found'],
  ['of another method', 'DELETE', '/v1/runs/one', undefined, 404, 'Not Found'],
  ['of the empty path', 'GET', '', undefined, 404, 'Not Found'],
  ['above 10 MB', 'POST', '/v1/runs', 'x'.repeat(10 * 1024 * 1024 + 1), 413, 'Request Entity Too Large'],
  ['above Lambda’s limit', 'POST', '/v1/runs', 'large', 413, 'Request Entity Too Large'],
  ['whose function fails', 'POST', '/v1/runs', 'fail', 500, 'Internal Server Error'],
  ['whose function returns no response', 'POST', '/v1/runs', 'nonsense', 500, 'Internal Server Error'],
  ['whose function takes too long', 'POST', '/v1/runs', 'slow', 503, 'Service Unavailable'],
  ['whose function has no free execution', 'POST', '/v1/runs', 'throttled', 503, 'Service Unavailable'],
])('a request %s gets the gateway’s own answer', async (_what, method, path, body, status, message) => {
  const answer = await send(method, path, body, { 'content-type': 'text/plain' });
  expect([answer.status, JSON.parse(answer.body)]).toEqual([status, { message }]);
});

test('requests above the burst are refused until the rate has filled the bucket again', async () => {
  now += 60_000;
  const ask = async () => (await fetch(`${server.url}${startApiPath}/v1/runs/one`)).status;
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([201, 201, 201, 429]);
  // Ten a second.
  now += 99;
  expect(await ask()).toBe(429);
  now += 1;
  expect([await ask(), await ask()]).toEqual([201, 429]);
  const refused = await fetch(`${server.url}${startApiPath}/v1/runs/one`);
  expect(await refused.json()).toEqual({ message: 'Too Many Requests' });
});
