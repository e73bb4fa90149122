/** The one WebSocket API of the template: which function answers which event, and whether its answer is sent to the client. */
import * as z from 'zod';
import type { Template } from '../template/template.ts';
import { TemplateFault } from '../template/template-fault.ts';

interface SocketRoute {
  readonly functionArn: string;
  /** what the function answers goes to the client */
  readonly answers: boolean;
}

export interface SocketRoutes {
  readonly apiId: string;
  readonly stage: string;
  /** `$connect`, `$disconnect`, or what a message selects: its action where there is a route of that name, else `$default` */
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

const understood = <Output>(what: string, schema: z.ZodType<Output>, value: unknown): Output => {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new TemplateFault(`${what} is not understood: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
};

/** Undefined where the template has no such API. */
export function readSocketRoutes(template: Template): SocketRoutes | undefined {
  const [own, ...others] = template.of('AWS::ApiGatewayV2::Api');
  if (own === undefined) return undefined;
  if (others.length > 0) throw new TemplateFault('the embedded cloud serves one WebSocket API, and the template has more');
  understood(own.logicalId, api, own.properties);
  const [stage] = template.of('AWS::ApiGatewayV2::Stage');
  if (stage === undefined) throw new TemplateFault(`${own.logicalId} has no stage`);
  const functions = new Map(
    template
      .of('AWS::ApiGatewayV2::Integration')
      .map(({ ref, logicalId, properties }) => [ref, understood(logicalId, integration, properties).IntegrationUri]),
  );
  const routes = new Map(
    template.of('AWS::ApiGatewayV2::Route').map(({ logicalId, properties }) => {
      const { RouteKey, Target, RouteResponseSelectionExpression } = understood(logicalId, route, properties);
      const functionArn = functions.get(Target.slice('integrations/'.length)) ?? '';
      return [RouteKey, { functionArn, answers: RouteResponseSelectionExpression !== undefined }] as const;
    }),
  );
  return { apiId: own.ref, stage: stage.name, find: (key) => routes.get(key) ?? routes.get('$default') };
}
