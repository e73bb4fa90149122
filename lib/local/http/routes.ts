/** Finds the REST API's method for a request. */
import type { Resource, Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import * as z from 'zod';
import { apiLimits } from '../limits.ts';

export interface Route {
  /** `/v1/runs/{runId}` */
  readonly resource: string;
  readonly resourceId: string;
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly method: Method;
}

export interface Routes {
  readonly apiId: string;
  readonly stage: string;
  readonly binaryMediaTypes: readonly string[];
  /** the ARNs of the functions with buffered responses */
  readonly bufferedFunctions: ReadonlySet<string>;
  /** the ARNs of the functions that only stream */
  readonly streamingFunctions: ReadonlySet<string>;
  find(httpMethod: string, path: string): Route | undefined;
}

type MatchedNode = { readonly node: RouteNode; readonly parameters: Readonly<Record<string, string>> };

const isGreedy = (part: string): boolean => /^\{.+\+\}$/.test(part);
const isParameter = (part: string): boolean => /^\{[^+]+\}$/.test(part);
const parameterName = (part: string): string => part.replace(/[{}+]/g, '');

/** Literal segments win over parameters, and parameters over greedy ones. A resource without any method is not deployed. */
function descend(node: RouteNode, parts: readonly string[]): MatchedNode | undefined {
  const [part, ...rest] = parts;
  if (part === undefined) return node.methods.size > 0 ? { node, parameters: {} } : undefined;
  const literal = node.children.find((child) => child.part === part);
  const direct = literal === undefined ? undefined : descend(literal, rest);
  if (direct !== undefined) return direct;
  const parameter = node.children.find((child) => isParameter(child.part));
  const byParameter = parameter === undefined ? undefined : descend(parameter, rest);
  if (parameter !== undefined && byParameter !== undefined) {
    return { ...byParameter, parameters: { [parameterName(parameter.part)]: part, ...byParameter.parameters } };
  }
  const greedy = node.children.find((child) => isGreedy(child.part));
  return greedy === undefined || greedy.methods.size === 0
    ? undefined
    : { node: greedy, parameters: { [parameterName(greedy.part)]: parts.join('/') } };
}

const methodsBelow = (node: RouteNode): readonly Method[] => [...node.methods.values(), ...node.children.flatMap(methodsBelow)];

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The routes of the one REST API; undefined where the template has none. */
export function readRoutes(template: Template): Routes | undefined {
  const [api, ...others] = template.of('AWS::ApiGateway::RestApi');
  if (api === undefined) return undefined;
  if (others.length > 0) throw new TemplateError('the embedded cloud serves one REST API, and the template has more');
  const root = buildTree(template, api);
  const types = api.properties['BinaryMediaTypes'];
  const methods = methodsBelow(root);
  const functionsThat = (matches: (method: Method) => boolean): ReadonlySet<string> =>
    new Set(methods.filter(matches).map(({ functionArn }) => functionArn));
  const bufferedFunctions = functionsThat(({ isStreaming }) => !isStreaming);
  return {
    apiId: api.ref,
    stage: template.of('AWS::ApiGateway::Stage')[0]?.name ?? 'prod',
    binaryMediaTypes: Array.isArray(types) ? types.map(String) : [],
    bufferedFunctions,
    streamingFunctions: functionsThat(({ functionArn }) => !bufferedFunctions.has(functionArn)),
    find(httpMethod, path) {
      const found = descend(
        root,
        path.split('/').filter((part) => part !== ''),
      );
      const method = found?.node.methods.get(httpMethod) ?? found?.node.methods.get('ANY');
      if (found === undefined || method === undefined) return undefined;
      const parameters = Object.entries(found.parameters).map(([name, value]) => [name, decode(value)] as const);
      return {
        resource: found.node.path || '/',
        resourceId: found.node.id,
        pathParameters: Object.fromEntries(parameters),
        method,
      };
    },
  };
}

interface Method {
  readonly functionArn: string;
  readonly timeoutMs: number;
  /** whether the response is sent chunk by chunk */
  readonly isStreaming: boolean;
}

interface RouteNode {
  readonly id: string;
  readonly part: string;
  readonly path: string;
  readonly methods: Map<string, Method>;
  readonly children: RouteNode[];
}

const methodShape = z.looseObject({
  HttpMethod: z.string(),
  ResourceId: z.string(),
  ApiKeyRequired: z.literal(false).optional(),
  AuthorizationType: z.literal('NONE'),
  Integration: z.looseObject({
    Type: z.literal('AWS_PROXY'),
    Uri: z.string(),
    TimeoutInMillis: z.number().optional(),
    ResponseTransferMode: z.enum(['BUFFERED', 'STREAM']).optional(),
  }),
});

const invocationUri = /\/functions\/(arn:[^/]+)\/(invocations|response-streaming-invocations)$/;

function readMethod({ logicalId, properties }: Resource): z.infer<typeof methodShape> & { method: Method } {
  const parsed = methodShape.safeParse(properties);
  if (!parsed.success)
    throw new TemplateError(
      `${logicalId}: the embedded cloud supports only AWS_PROXY methods without an authorizer: ${z.prettifyError(parsed.error)}`,
    );
  const { Integration } = parsed.data;
  const [, functionArn, operation] = invocationUri.exec(Integration.Uri) ?? [];
  if (functionArn === undefined)
    throw new TemplateError(`${logicalId}: the integration's URI names no function: ${Integration.Uri}`);
  const isStreaming = Integration.ResponseTransferMode === 'STREAM';
  if (isStreaming !== (operation === 'response-streaming-invocations')) {
    throw new TemplateError(`${logicalId}: ResponseTransferMode and the integration's URI disagree on streaming`);
  }
  return {
    ...parsed.data,
    method: { functionArn, isStreaming, timeoutMs: Integration.TimeoutInMillis ?? apiLimits.integrationMs },
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function buildTree(template: Template, api: Resource): RouteNode {
  const root: RouteNode = { id: `${api.ref}-root`, part: '', path: '', methods: new Map(), children: [] };
  const nodes = new Map([[root.id, root]]);
  const pending = template.of('AWS::ApiGateway::Resource').filter(({ properties }) => properties['RestApiId'] === api.ref);
  // A parent may follow its child in the template.
  for (let pendingBefore = pending.length; pending.length > 0;) {
    for (const resource of pending.splice(0)) {
      const parent = nodes.get(textOf(resource.properties['ParentId']));
      if (parent === undefined) {
        pending.push(resource);
        continue;
      }
      const part = textOf(resource.properties['PathPart']);
      const node: RouteNode = { id: resource.ref, part, path: `${parent.path}/${part}`, methods: new Map(), children: [] };
      parent.children.push(node);
      nodes.set(node.id, node);
    }
    if (pending.length === pendingBefore)
      throw new TemplateError(`API resources without a parent: ${pending.map((one) => one.logicalId).join(', ')}`);
    pendingBefore = pending.length;
  }
  for (const resource of template.of('AWS::ApiGateway::Method')) {
    if (resource.properties['RestApiId'] !== api.ref) continue;
    const { HttpMethod, ResourceId, method } = readMethod(resource);
    nodes.get(ResourceId)?.methods.set(HttpMethod, method);
  }
  return root;
}
