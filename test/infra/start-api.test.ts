/** The start API in the template: its routes, its event, its permission, its limits, and when there is none. */
import { App, Stack } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { startApiRoutes } from '../../lib/api/start-api.ts';
import { Stepwell } from '../../lib/constructs/index.ts';
import { written } from './statements.ts';
import { type Resource, byId, emptyBundles, ofType, synthesize } from './synthesized.ts';

const { runtime, text } = synthesize();
const { id: apiId } = byId(runtime, 'StepwellStartApi');
const apiFunction = byId(runtime, 'StepwellFunctionsApiFunction').id;

const ofApi = (resources: readonly Resource[], type: string): readonly Resource[] =>
  ofType(resources, `ApiGatewayV2::${type}`).filter(({ Properties }) => written(Properties['ApiId']) === `<${apiId}>`);

const routeShape = z.object({
  RouteKey: z.string(),
  AuthorizationType: z.literal('NONE'),
  Target: z.unknown().transform(written),
});
const served = ofApi(runtime, 'Route').map(({ Properties }) => routeShape.parse(Properties));

test('it has starts, signals and reads of a run, their preflights, and nothing else', () => {
  expect(served.map(({ RouteKey }) => RouteKey).toSorted()).toEqual([
    'GET /v1/runs/{runId}',
    'OPTIONS /v1/runs',
    'OPTIONS /v1/runs/batch',
    'OPTIONS /v1/runs/{runId}',
    'OPTIONS /v1/runs/{runId}/signals',
    'OPTIONS /v1/signals',
    'POST /v1/runs',
    'POST /v1/runs/batch',
    'POST /v1/runs/{runId}/signals',
    'POST /v1/signals',
  ]);
});

test('its list of routes is the route table’s, and none of them streams or is served by another function', () => {
  const ofTable = startApiRoutes.map(({ operationId }) => routes.find((route) => route.operationId === operationId));
  expect(ofTable).toMatchObject(startApiRoutes);
  expect(ofTable.map((route: Route | undefined) => [route?.servedBy, route?.streams])).toEqual(
    startApiRoutes.map(() => ['api', undefined]),
  );
});

test('each route sends the event of a REST API to the api function', () => {
  const [integration, ...others] = ofApi(runtime, 'Integration');
  expect(others).toEqual([]);
  expect(integration?.Properties).toMatchObject({ IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '1.0' });
  expect(written(integration?.Properties['IntegrationUri'])).toBe(`<${apiFunction}.Arn>`);
  expect(new Set(served.map(({ Target }) => Target))).toEqual(new Set([`integrations/<${integration?.id}>`]));
});

test('only this API may invoke the function through it', () => {
  const sources = ofType(runtime, 'Lambda::Permission')
    .filter(({ Properties }) => written(Properties['FunctionName']) === `<${apiFunction}.Arn>`)
    .map(({ Properties }) => [Properties['Principal'], written(Properties['SourceArn'])])
    .filter(([, source]) => String(source).includes(`<${apiId}>`));
  expect(sources).toEqual([
    ['apigateway.amazonaws.com', expect.stringMatching(/execute-api:.*:<StepwellStartApi\w+>\/\*\/\*\/\*$/)],
  ]);
});

const stageShape = z.looseObject({ AccessLogSettings: z.object({ DestinationArn: z.unknown(), Format: z.string() }) });

test('the stage is no part of the path, has the API’s rate limit, and its access log has no path, query, key or body', () => {
  const [stage, ...others] = ofApi(runtime, 'Stage');
  expect(others).toEqual([]);
  expect(stage?.Properties).toMatchObject({
    StageName: '$default',
    AutoDeploy: true,
    DefaultRouteSettings: { ThrottlingRateLimit: 1_000, ThrottlingBurstLimit: 2_000 },
  });
  const { Format } = stageShape.parse(stage?.Properties).AccessLogSettings;
  expect(JSON.parse(Format)).toMatchObject({ requestId: '$context.requestId', route: '$context.routeKey' });
  expect(Format).not.toMatch(/\$context\.path|header|querystring|body|apiKey|authorizer/i);
  const slower = synthesize({ requestsPerSecond: 7, requestBurst: 9 }).runtime;
  expect(ofApi(slower, 'Stage')[0]?.Properties).toMatchObject({
    DefaultRouteSettings: { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 },
  });
});

test('the gateway answers no CORS of its own: it would replace the headers of the function', () => {
  const { runtime: withPages } = synthesize({ corsOrigins: ['https://app.example.com'] });
  expect(byId(withPages, 'StepwellStartApi').Properties).not.toHaveProperty('CorsConfiguration');
});

test('its URL is an output', () => {
  const { Outputs } = z
    .object({ Outputs: z.record(z.string(), z.object({ Value: z.unknown() })) })
    .parse(JSON.parse(text.slice(text.lastIndexOf('\n{') + 1)));
  expect(written(Outputs['StartApiUrl']?.Value)).toBe(`<${apiId}.ApiEndpoint>`);
});

const domain = { name: 'flows.example.com', certificateArn: 'arn:aws:acm:eu-west-1:111122223333:certificate/one' };
const webAclArn = 'arn:aws:wafv2:eu-west-1:111122223333:regional/webacl/one/two';
const hasOne = (settings: Readonly<Record<string, unknown>>): boolean => {
  const made = synthesize(settings);
  const count = ofType(made.runtime, 'ApiGatewayV2::Api').filter(
    ({ Properties }) => Properties['ProtocolType'] === 'HTTP',
  ).length;
  expect(made.text.includes('"StartApiUrl"')).toBe(count === 1);
  return count === 1;
};

describe('the setting startApi', () => {
  test.each([
    ['is on by default', {}, true],
    ['turns it off', { startApi: 'false' }, false],
    ['is off where a web ACL protects the API, which cannot protect it', { webAclArn }, false],
    ['is off where a domain closes the default address', { domain }, false],
    ['turns it on beside both', { startApi: 'true', domain, webAclArn }, true],
  ])('%s', (_what, settings, expected) => {
    expect(hasOne(settings)).toBe(expected);
  });

  test('without it, no other resource changes', () => {
    const without = new Map(synthesize({ startApi: false }).runtime.map((resource) => [resource.id, resource]));
    const added = runtime.filter(({ id }) => !without.has(id));
    expect(added.map(({ Type, id }) => [Type, /StartApi|ApiServerErrors2/.test(id)])).toSatisfy(
      (all: readonly (readonly [string, boolean])[]) => all.every(([, isOfIt]) => isOfIt),
    );
    expect(added.map(({ Type }) => Type.replace('AWS::', '')).toSorted()).toEqual([
      'ApiGatewayV2::Api',
      'ApiGatewayV2::Integration',
      ...Array.from({ length: 10 }, () => 'ApiGatewayV2::Route'),
      'ApiGatewayV2::Stage',
      'CloudWatch::Alarm',
      'Lambda::Permission',
      'Logs::LogGroup',
    ]);
    expect(without.size).toBe(runtime.length - added.length);
  });
});

test('without the api function there is none', () => {
  expect(ofType(synthesize({}, emptyBundles(['worker'])).runtime, 'ApiGatewayV2::Api')).toEqual([]);
});

test('the construct has its URL, which is empty without it, and so has an installation of another app', () => {
  const stack = new Stack(new App({ builtinCloudFormationValidation: false }), 'Mine');
  const functionsDirectory = emptyBundles();
  const stepwell = new Stepwell(stack, 'On', { functionsDirectory });
  expect(stack.resolve(stepwell.startApiUrl)).toEqual({ 'Fn::GetAtt': [expect.stringMatching(/^OnStartApi/), 'ApiEndpoint'] });
  expect(new AwsSolutionsChecks().validateScope(stepwell).violations.map(({ ruleName }) => ruleName)).toEqual([]);
  const off = new Stepwell(stack, 'Off', { functionsDirectory, startApi: false, setsAccountLogRole: false });
  expect([off.startApi, off.startApiUrl]).toEqual([undefined, '']);
  const other = { apiUrl: 'https://a.test/prod', eventBusName: 'bus' };
  expect(Stepwell.fromAttributes(stack, 'One', { ...other, startApiUrl: 'https://b.test' }).startApiUrl).toBe('https://b.test');
  expect(Stepwell.fromAttributes(stack, 'Two', other).startApiUrl).toBe('');
});
