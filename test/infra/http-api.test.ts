import { expect, test } from 'vitest';
import * as z from 'zod';
import { errorCatalogue } from '../../lib/api/errors.ts';
import { written } from './statements.ts';
import { type Resource, byId, emptyBundles, ofType, pointedAt, synthesize } from './synthesized.ts';

const { runtime } = synthesize();

interface Route {
  readonly method: string;
  readonly path: string;
  readonly integration: Record<string, unknown>;
}

const method = z.object({
  HttpMethod: z.string(),
  ResourceId: z.unknown().transform(pointedAt),
  AuthorizationType: z.literal('NONE'),
  Integration: z.record(z.string(), z.unknown()),
});

function routesIn(resources: readonly Resource[]): readonly Route[] {
  const pathOf = (id: string): string => {
    const resource = resources.find((one) => one.id === id);
    if (resource?.Type !== 'AWS::ApiGateway::Resource') return '';
    return `${pathOf(pointedAt(resource.Properties['ParentId']))}/${String(resource.Properties['PathPart'])}`;
  };
  return ofType(resources, 'ApiGateway::Method').map(({ Properties }) => {
    const { HttpMethod, ResourceId, Integration } = method.parse(Properties);
    return { method: HttpMethod, path: pathOf(ResourceId), integration: Integration };
  });
}

const routes = routesIn(runtime);
const uriOf = ({ integration }: Route) => written(integration['Uri']);

test('no resource hides routes of the API: each one accepts every method', () => {
  const paths = new Set(routes.map(({ path }) => path));
  expect([...paths].toSorted()).toEqual([
    '/console',
    '/console/{proxy+}',
    '/devkit',
    '/devkit/{proxy+}',
    '/embed',
    '/embed/{proxy+}',
    '/v1',
    '/v1/apps',
    '/v1/apps/{proxy+}',
    '/v1/audit',
    '/v1/audit/{proxy+}',
    '/v1/catalogue',
    '/v1/catalogue/{proxy+}',
    '/v1/deployments',
    '/v1/deployments/{proxy+}',
    '/v1/embeds',
    '/v1/embeds/{proxy+}',
    '/v1/installation',
    '/v1/installation/{proxy+}',
    '/v1/keys',
    '/v1/keys/{proxy+}',
    '/v1/lenses',
    '/v1/lenses/{proxy+}',
    '/v1/openapi.json',
    '/v1/openapi.json/{proxy+}',
    '/v1/queries',
    '/v1/queries/{proxy+}',
    '/v1/queue',
    '/v1/queue/{proxy+}',
    '/v1/runs',
    '/v1/runs/{runId}',
    '/v1/runs/{runId}/events',
    '/v1/runs/{runId}/stop',
    '/v1/runs/{runId}/{proxy+}',
    '/v1/schedules',
    '/v1/schedules/{proxy+}',
    '/v1/session',
    '/v1/session/{proxy+}',
    '/v1/sessions',
    '/v1/sessions/{proxy+}',
    '/v1/webhooks',
    '/v1/webhooks/{proxy+}',
    '/v1/world',
    '/v1/world/{proxy+}',
    '/v1/{proxy+}',
  ]);
  expect(ofType(runtime, 'ApiGateway::Resource')).toHaveLength(paths.size);
  for (const path of paths) {
    const [, , own = ''] = path.split('/');
    const names: Record<string, string> = {
      world: 'World',
      queue: 'World',
      deployments: 'Deployments',
      apps: 'Deployments',
      webhooks: 'Webhooks',
      lenses: 'Library',
      queries: 'Library',
      schedules: 'Library',
      keys: 'Library',
      session: 'Library',
      sessions: 'Library',
      audit: 'Library',
      installation: 'Library',
      catalogue: 'Library',
      embeds: 'Library',
      'openapi.json': 'Library',
    };
    const ofPrefix = path.startsWith('/devkit')
      ? 'Webhooks'
      : path.startsWith('/console')
        ? 'Console'
        : path.startsWith('/embed')
          ? 'Library'
          : undefined;
    const name = path.endsWith('/stop') ? 'TestRuns' : (ofPrefix ?? names[own] ?? 'Api');
    const any = routes.find((route) => route.path === path && route.method === 'ANY');
    const { id } = byId(runtime, `StepwellFunctions${name}Function`);
    const operation =
      name === 'Console'
        ? '2021-11-15/functions/<ID.Arn>/response-streaming-invocations'
        : '2015-03-31/functions/<ID.Arn>/invocations';
    expect(any === undefined ? '' : uriOf(any), path).toContain(operation.replace('ID', id));
  }
});

test('a multipart form and the bytes of a webhook reach the function unchanged, and JSON reaches it as text', () => {
  expect(byId(runtime, 'StepwellHttpApiRestApi').Properties).toMatchObject({
    BinaryMediaTypes: expect.arrayContaining(['multipart/form-data', 'application/octet-stream', 'image/png']),
  });
  expect(JSON.stringify(byId(runtime, 'StepwellHttpApiRestApi').Properties)).not.toMatch(/\*\/\*|application\/json/);
});

test('without the deployments function, the api function serves its routes', () => {
  const without = routesIn(synthesize({}, emptyBundles(['api'])).runtime);
  expect(without.filter(({ path }) => path.startsWith('/v1/deployments'))).toEqual([]);
});

test('only the events of a run and the console are streamed', () => {
  const streamed = routes
    .filter(({ integration }) => integration['ResponseTransferMode'] === 'STREAM')
    .toSorted((one, other) => (one.path < other.path ? 1 : -1));
  expect(streamed.map(({ method: verb, path }) => [verb, path])).toEqual([
    ['GET', '/v1/runs/{runId}/events'],
    ['ANY', '/console/{proxy+}'],
    ['ANY', '/console'],
  ]);
  expect(streamed.map(uriOf)).toEqual([
    expect.stringMatching(/2021-11-15\/functions\/<StepwellFunctionsEventsFunction.*>\/response-streaming-invocations$/),
    expect.stringMatching(/<StepwellFunctionsConsoleFunction.*>\/response-streaming-invocations$/),
    expect.stringMatching(/<StepwellFunctionsConsoleFunction.*>\/response-streaming-invocations$/),
  ]);
  expect(streamed[0]?.integration).toMatchObject({ TimeoutInMillis: 900_000, Type: 'AWS_PROXY' });
});

test('without the events function, the api function serves its route', () => {
  const without = routesIn(synthesize({}, emptyBundles(['api'])).runtime);
  expect(without.filter(({ path }) => path === '/v1/runs/{runId}/events').map(({ method: verb }) => verb)).toEqual(['ANY']);
});

test('the API is regional, because an edge endpoint closes an idle stream after 30 seconds', () => {
  expect(byId(runtime, 'StepwellHttpApiRestApi').Properties).toMatchObject({ EndpointConfiguration: { Types: ['REGIONAL'] } });
});

const envelope = z.strictObject({
  code: z.enum(Object.keys(errorCatalogue)),
  message: z.string().min(1),
  correlationId: z.string(),
});
const answerSchema = z.object({
  ResponseType: z.string(),
  StatusCode: z.string().optional(),
  ResponseParameters: z.record(z.string(), z.string()),
  ResponseTemplates: z.object({
    'application/json': z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(envelope),
  }),
});

test('the gateway’s own responses have the API’s error format', () => {
  const answers = ofType(runtime, 'ApiGateway::GatewayResponse').map(({ Properties }) => answerSchema.parse(Properties));
  const codes = answers.map((answer) => [
    answer.ResponseType,
    answer.StatusCode,
    answer.ResponseTemplates['application/json'].code,
  ]);
  expect(codes).toEqual([
    ['DEFAULT_4XX', undefined, 'invalid_request'],
    ['DEFAULT_5XX', undefined, 'internal'],
    ['MISSING_AUTHENTICATION_TOKEN', '404', 'not_found'],
    ['RESOURCE_NOT_FOUND', '404', 'not_found'],
    ['REQUEST_TOO_LARGE', '413', 'payload_too_large'],
    ['THROTTLED', '429', 'rate_limited'],
    ['QUOTA_EXCEEDED', '429', 'rate_limited'],
    ['WAF_FILTERED', '403', 'request_blocked'],
    ['INTEGRATION_TIMEOUT', '504', 'unavailable'],
    ['INTEGRATION_FAILURE', '503', 'unavailable'],
  ]);
  for (const { ResponseType, ResponseParameters, ResponseTemplates } of answers) {
    expect(ResponseTemplates['application/json'].correlationId, ResponseType).toBe('$context.requestId');
    expect(ResponseParameters, ResponseType).toMatchObject({
      'gatewayresponse.header.x-workflow-correlation-id': 'context.requestId',
    });
  }
});

const stageSchema = z.object({
  AccessLogSetting: z.object({ DestinationArn: z.unknown(), Format: z.string() }),
  MethodSettings: z.array(z.record(z.string(), z.unknown())),
});

test('the access log has the caller and the route, but no path, key or body', () => {
  const [stage] = ofType(runtime, 'ApiGateway::Stage').map(({ Properties }) => stageSchema.parse(Properties));
  const format = stage?.AccessLogSetting.Format ?? '';
  expect(JSON.parse(format)).toMatchObject({ requestId: '$context.requestId', resourcePath: '$context.resourcePath' });
  expect(format).not.toMatch(/\$context\.path|header|apiKey|authorizer/i);
  expect(stage?.MethodSettings).toEqual([
    {
      HttpMethod: '*',
      ResourcePath: '/*',
      LoggingLevel: 'ERROR',
      DataTraceEnabled: false,
      ThrottlingRateLimit: 1_000,
      ThrottlingBurstLimit: 2_000,
    },
  ]);
});

test('a custom domain disables the default endpoint', () => {
  const { runtime: resources } = synthesize({
    domain: { name: 'flows.example.com', certificateArn: 'arn:aws:acm:eu-west-1:111122223333:certificate/one' },
  });
  expect(byId(resources, 'StepwellHttpApiRestApi').Properties).toMatchObject({ DisableExecuteApiEndpoint: true });
  expect(ofType(resources, 'ApiGateway::DomainName')[0]?.Properties).toMatchObject({
    DomainName: 'flows.example.com',
    SecurityPolicy: 'TLS_1_2',
    EndpointConfiguration: { Types: ['REGIONAL'] },
  });
});
