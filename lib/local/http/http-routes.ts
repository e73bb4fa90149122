/** Finds the route of the template's HTTP API for a request. */
import * as z from 'zod';
import { httpApiLimits } from '../limits.ts';
import { apisOf, parseProperties, resourcesOf } from '../template/parse-properties.ts';
import type { Resource, Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';

export interface HttpRoute {
  /** `/v1/runs/{runId}`; `$default` */
  readonly resource: string;
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly integration: HttpIntegration;
}

export interface HttpRoutes {
  readonly apiId: string;
  readonly stage: string;
  readonly throttle: { readonly perSecond: number; readonly burst: number };
  find(httpMethod: string, path: string): HttpRoute | undefined;
}

interface HttpIntegration {
  readonly functionArn: string;
  readonly timeoutMs: number;
}

interface TemplateRoute {
  /** `ANY` matches the methods that no other route of the path has */
  readonly method: string;
  readonly path: string;
  readonly segments: readonly string[];
  readonly integration: HttpIntegration;
}

/** CORS of the gateway, a quick create and mutual TLS are not implemented, so a template with them does not start. */
const api = z.looseObject({
  CorsConfiguration: z.undefined().optional(),
  Target: z.undefined().optional(),
  Body: z.undefined().optional(),
  DisableExecuteApiEndpoint: z.literal(false).optional(),
});
const stageShape = z.looseObject({
  // Of another name, it is a part of the path.
  StageName: z.literal('$default'),
  // Without it, nothing is deployed until a deployment is.
  AutoDeploy: z.literal(true),
  RouteSettings: z.undefined().optional(),
  DefaultRouteSettings: z.looseObject({ ThrottlingRateLimit: z.number().positive(), ThrottlingBurstLimit: z.int().positive() }),
});
const integrationShape = z.looseObject({
  IntegrationType: z.literal('AWS_PROXY'),
  IntegrationUri: z.string().regex(/^arn:[^:]+:lambda:/),
  PayloadFormatVersion: z.literal('1.0'),
  TimeoutInMillis: z.int().min(50).max(httpApiLimits.integrationMs).default(httpApiLimits.integrationMs),
  RequestParameters: z.undefined().optional(),
  ResponseParameters: z.undefined().optional(),
});
const routeShape = z.looseObject({
  RouteKey: z.string().regex(/^(?:\$default|(?:ANY|GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \/\S*)$/),
  Target: z.string().regex(/^integrations\/./),
  AuthorizationType: z.literal('NONE').default('NONE'),
});

const isGreedy = (segment: string): boolean => /^\{.+\+\}$/.test(segment);
const isParameter = (segment: string): boolean => /^\{[^+]+\}$/.test(segment);
const nameOf = (segment: string): string => segment.replace(/[{}+]/g, '');

/** An empty segment is a segment: `/v1/runs/` is another path than `/v1/runs`. */
const segmentsOf = (path: string): readonly string[] => path.split('/').slice(1);

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

/** The path parameters, or undefined where the route does not match. */
function match({ segments }: TemplateRoute, path: readonly string[]): Readonly<Record<string, string>> | undefined {
  const greedy = segments.findIndex(isGreedy);
  if (greedy < 0 ? segments.length !== path.length : path.length <= greedy) return undefined;
  const parameters: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    const received = path[at] ?? '';
    if (at === greedy) parameters[nameOf(segment)] = decode(path.slice(at).join('/'));
    else if (!isParameter(segment)) {
      if (segment !== received) return undefined;
    } else if (received === '') return undefined;
    else parameters[nameOf(segment)] = decode(received);
  }
  return parameters;
}

/**
 * The most specific route is first: a full match, then a greedy one, and literal segments before parameters. A method precedes ANY.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
 */
const rank = ({ segments, method }: TemplateRoute): string =>
  `${segments.some(isGreedy) ? '1' : '0'}${segments.map((one) => (isGreedy(one) ? '2' : isParameter(one) ? '1' : '0')).join('')}${method === 'ANY' ? '1' : '0'}`;

const defaultKey = '$default';

/** Undefined where the template has no HTTP API. */
export function readHttpRoutes(template: Template): HttpRoutes | undefined {
  const [httpApi, ...others] = apisOf('HTTP', template.of('AWS::ApiGatewayV2::Api'));
  if (httpApi === undefined) return undefined;
  if (others.length > 0) throw new TemplateError('the embedded cloud serves one HTTP API, and the template has more');
  parseProperties(httpApi, api);
  const ofApi = (type: string): readonly Resource[] => resourcesOf(httpApi.ref, template.of(type));
  const [stage] = ofApi('AWS::ApiGatewayV2::Stage');
  if (stage === undefined) throw new TemplateError(`${httpApi.logicalId} has no stage`);
  const { StageName, DefaultRouteSettings: limits } = parseProperties(stage, stageShape);
  const integrations = new Map(
    ofApi('AWS::ApiGatewayV2::Integration').map((resource) => {
      const { IntegrationUri: functionArn, TimeoutInMillis: timeoutMs } = parseProperties(resource, integrationShape);
      return [resource.ref, { functionArn, timeoutMs }] as const;
    }),
  );
  const keyed = ofApi('AWS::ApiGatewayV2::Route').map((resource) => {
    const { RouteKey, Target } = parseProperties(resource, routeShape);
    const integration = integrations.get(Target.slice('integrations/'.length));
    if (integration === undefined) throw new TemplateError(`${resource.logicalId}: no integration of its API is its target`);
    return { key: RouteKey, integration };
  });
  const routes = keyed
    .filter(({ key }) => key !== defaultKey)
    .map(({ key, integration }): TemplateRoute => {
      const [method = '', path = ''] = key.split(' ');
      return { method, path, segments: segmentsOf(path), integration };
    })
    .toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
  const fallback = keyed.find(({ key }) => key === defaultKey);
  return {
    apiId: httpApi.ref,
    stage: StageName,
    throttle: { perSecond: limits.ThrottlingRateLimit, burst: limits.ThrottlingBurstLimit },
    find(httpMethod, path) {
      const received = segmentsOf(path);
      for (const route of routes) {
        if (route.method !== httpMethod && route.method !== 'ANY') continue;
        const pathParameters = match(route, received);
        if (pathParameters !== undefined) return { resource: route.path, pathParameters, integration: route.integration };
      }
      return fallback === undefined ? undefined : { resource: defaultKey, pathParameters: {}, integration: fallback.integration };
    },
  };
}
