/** The template's WebSocket API: which function handles each route, and whether its response is sent to the client. */
import * as z from 'zod';
import { apisOf, parseProperties, resourcesOf } from '../template/parse-properties.ts';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';

interface SocketRoute {
  readonly functionArn: string;
  /** whether the function's response is sent to the client */
  readonly sendsResponse: boolean;
}

export interface SocketRoutes {
  readonly apiId: string;
  readonly stage: string;
  /** `$connect`, `$disconnect`, or the route of a message: its action where a route has that name, else `$default` */
  find(key: string): SocketRoute | undefined;
}

const integration = z.looseObject({
  IntegrationType: z.literal('AWS_PROXY'),
  IntegrationUri: z.string().transform((uri) => /\/functions\/(arn:[^/]+)\/invocations$/.exec(uri)?.[1] ?? ''),
});
const route = z.looseObject({
  RouteKey: z.string(),
  Target: z.string().regex(/^integrations\/./),
  AuthorizationType: z.literal('NONE').default('NONE'),
  RouteResponseSelectionExpression: z.literal('$default').exactOptional(),
});
const api = z.looseObject({ ProtocolType: z.literal('WEBSOCKET'), RouteSelectionExpression: z.literal('$request.body.action') });

/** Undefined where the template has no WebSocket API. */
export function readSocketRoutes(template: Template): SocketRoutes | undefined {
  const [socketApi, ...otherApis] = apisOf('WEBSOCKET', template.of('AWS::ApiGatewayV2::Api'));
  if (socketApi === undefined) return undefined;
  if (otherApis.length > 0) throw new TemplateError('the embedded cloud serves one WebSocket API, and the template has more');
  parseProperties(socketApi, api);
  const ofApi = (type: string) => resourcesOf(socketApi.ref, template.of(type));
  const [stage] = ofApi('AWS::ApiGatewayV2::Stage');
  if (stage === undefined) throw new TemplateError(`${socketApi.logicalId} has no stage`);
  const functions = new Map(
    ofApi('AWS::ApiGatewayV2::Integration').map((resource) => [
      resource.ref,
      parseProperties(resource, integration).IntegrationUri,
    ]),
  );
  const routes = new Map(
    ofApi('AWS::ApiGatewayV2::Route').map((resource) => {
      const { RouteKey, Target, RouteResponseSelectionExpression } = parseProperties(resource, route);
      const functionArn = functions.get(Target.slice('integrations/'.length)) ?? '';
      return [RouteKey, { functionArn, sendsResponse: RouteResponseSelectionExpression !== undefined }] as const;
    }),
  );
  return { apiId: socketApi.ref, stage: stage.name, find: (key) => routes.get(key) ?? routes.get('$default') };
}
