import { expect, test } from 'vitest';
import * as z from 'zod';
import { written } from './statements.ts';
import { type Resource, byId, emptyBundles, ofType, synthesize } from './synthesized.ts';

const { runtime, text } = synthesize();
/** Resources of the WebSocket API, without those of the start API. */
const ofSockets = (resources: readonly Resource[], type: string): readonly Resource[] =>
  ofType(resources, `ApiGatewayV2::${type}`).filter(
    ({ Properties }) => written(Properties['ApiId']) === `<${byId(resources, 'StepwellSocketApi').id}>`,
  );
const route = z.object({
  RouteKey: z.string(),
  Target: z.unknown().transform(written),
  RouteResponseSelectionExpression: z.string().optional(),
});
const routes = ofSockets(runtime, 'Route').map(({ Properties }) => route.parse(Properties));

test('one function handles connect, disconnect and messages, and only messages get a response', () => {
  expect(routes.map(({ RouteKey, RouteResponseSelectionExpression }) => [RouteKey, RouteResponseSelectionExpression])).toEqual([
    ['$connect', undefined],
    ['$disconnect', undefined],
    ['$default', '$default'],
  ]);
  const sockets = byId(runtime, 'StepwellFunctionsSocketsFunction').id;
  const integrations = ofSockets(runtime, 'Integration');
  for (const { Target } of routes) {
    const integration = integrations.find(({ id }) => Target === `integrations/<${id}>`);
    expect(integration?.Properties['IntegrationType'], Target).toBe('AWS_PROXY');
    expect(written(integration?.Properties['IntegrationUri'])).toContain(`functions/<${sockets}.Arn>/invocations`);
  }
});

test('the gateway may invoke that function only for routes of this API', () => {
  const { id } = byId(runtime, 'StepwellSocketApi');
  const permitted = ofType(runtime, 'Lambda::Permission')
    .map(({ Properties }) => written(Properties['SourceArn']))
    .filter((source) => source.includes(id));
  expect(permitted.map((source) => source.replace(/^.*>\//, '')).toSorted()).toEqual(['*$connect', '*$default', '*$disconnect']);
});

test('the stage has the API’s rate limit and an access log without queries, tickets or messages', () => {
  const [stage] = ofSockets(runtime, 'Stage');
  expect(stage?.Properties).toMatchObject({
    StageName: 'live',
    AutoDeploy: true,
    DefaultRouteSettings: { ThrottlingRateLimit: 1_000, ThrottlingBurstLimit: 2_000 },
  });
  const { Format } = z.object({ Format: z.string() }).parse(stage?.Properties['AccessLogSettings']);
  expect(JSON.parse(Format)).toMatchObject({ requestId: '$context.requestId', connectionId: '$context.connectionId' });
  expect(Format).not.toMatch(/header|query|querystring|body|apiKey|authorizer/i);
  const slower = synthesize({ requestsPerSecond: 7, requestBurst: 9 }).runtime;
  expect(ofSockets(slower, 'Stage')[0]?.Properties).toMatchObject({
    DefaultRouteSettings: { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 },
  });
});

const dependent = z.looseObject({ DependsOn: z.array(z.string()).default([]) });
test('the stage depends on the account’s logging role', () => {
  const account = byId(runtime, 'StepwellHttpApiRestApiAccount').id;
  expect(dependent.parse(ofSockets(runtime, 'Stage')[0]).DependsOn).toContain(account);
});

test('the broadcaster receives the URL, and the URL is an output', () => {
  const { id } = byId(runtime, 'StepwellSocketApi');
  const told = ofType(runtime, 'Lambda::Function').flatMap(({ id: name, Properties }) => {
    const { Variables } = z.object({ Variables: z.record(z.string(), z.unknown()) }).parse(Properties['Environment']);
    return Variables['STEPWELL_SOCKETS_URL'] === undefined ? [] : [[name, written(Variables['STEPWELL_SOCKETS_URL'])]];
  });
  expect(told).toEqual([[byId(runtime, 'StepwellFunctionsBroadcasterFunction').id, `<${id}.ApiEndpoint>/live`]]);
  expect(text).toContain('"SocketUrl"');
});

test('without the function there is no WebSocket API and no URL', () => {
  const without = synthesize({}, emptyBundles(['api', 'broadcaster']));
  const protocols = ofType(without.runtime, 'ApiGatewayV2::Api').map(({ Properties }) => Properties['ProtocolType']);
  expect(protocols).toEqual(['HTTP']);
  expect(without.text).not.toContain('SocketUrl');
  expect(without.text).not.toContain('execute-api:ManageConnections');
});
