/** The REST API of the template as a tree of path parts, and which method answers a request. */
import { z } from 'zod';
import type { Resource, Template } from '../template/template.ts';
import { TemplateFault } from '../template/template-fault.ts';
import { limits } from './limits.ts';

export interface Method {
  readonly functionArn: string;
  readonly timeoutMs: number;
  /** whether the answer is passed on piece by piece */
  readonly streams: boolean;
}

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
  find(httpMethod: string, path: string): Route | undefined;
}

interface Node {
  readonly id: string;
  readonly part: string;
  readonly path: string;
  readonly methods: Map<string, Method>;
  readonly children: Node[];
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
    throw new TemplateFault(
      `${logicalId}: a method of another kind than AWS_PROXY without authorizer: ${z.prettifyError(parsed.error)}`,
    );
  const { Integration } = parsed.data;
  const [, functionArn, operation] = invocationUri.exec(Integration.Uri) ?? [];
  if (functionArn === undefined)
    throw new TemplateFault(`${logicalId}: the integration's URI names no function: ${Integration.Uri}`);
  const streams = Integration.ResponseTransferMode === 'STREAM';
  if (streams !== (operation === 'response-streaming-invocations')) {
    throw new TemplateFault(`${logicalId}: ResponseTransferMode and the integration's URI disagree on streaming`);
  }
  return { ...parsed.data, method: { functionArn, streams, timeoutMs: Integration.TimeoutInMillis ?? limits.integrationMs } };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function buildTree(template: Template, api: Resource): Node {
  const root: Node = { id: `${api.ref}-root`, part: '', path: '', methods: new Map(), children: [] };
  const nodes = new Map([[root.id, root]]);
  const pending = template.of('AWS::ApiGateway::Resource').filter(({ properties }) => properties['RestApiId'] === api.ref);
  // a parent may stand behind its child in the template
  for (let left = pending.length; pending.length > 0;) {
    for (const resource of pending.splice(0)) {
      const parent = nodes.get(textOf(resource.properties['ParentId']));
      if (parent === undefined) {
        pending.push(resource);
        continue;
      }
      const part = textOf(resource.properties['PathPart']);
      const node: Node = { id: resource.ref, part, path: `${parent.path}/${part}`, methods: new Map(), children: [] };
      parent.children.push(node);
      nodes.set(node.id, node);
    }
    if (pending.length === left)
      throw new TemplateFault(`API resources without a parent: ${pending.map((one) => one.logicalId).join(', ')}`);
    left = pending.length;
  }
  for (const resource of template.of('AWS::ApiGateway::Method')) {
    if (resource.properties['RestApiId'] !== api.ref) continue;
    const { HttpMethod, ResourceId, method } = readMethod(resource);
    nodes.get(ResourceId)?.methods.set(HttpMethod, method);
  }
  return root;
}

type Found = { readonly node: Node; readonly parameters: Readonly<Record<string, string>> };

const isGreedy = (part: string): boolean => /^\{.+\+\}$/.test(part);
const isParameter = (part: string): boolean => /^\{[^+]+\}$/.test(part);
const nameOf = (part: string): string => part.replace(/[{}+]/g, '');

/** A literal part before a parameter, a parameter before a greedy one. A resource without any method is not deployed. */
function descend(node: Node, parts: readonly string[]): Found | undefined {
  const [part, ...rest] = parts;
  if (part === undefined) return node.methods.size > 0 ? { node, parameters: {} } : undefined;
  const literal = node.children.find((child) => child.part === part);
  const direct = literal === undefined ? undefined : descend(literal, rest);
  if (direct !== undefined) return direct;
  const parameter = node.children.find((child) => isParameter(child.part));
  const byParameter = parameter === undefined ? undefined : descend(parameter, rest);
  if (parameter !== undefined && byParameter !== undefined) {
    return { ...byParameter, parameters: { [nameOf(parameter.part)]: part, ...byParameter.parameters } };
  }
  const greedy = node.children.find((child) => isGreedy(child.part));
  return greedy === undefined || greedy.methods.size === 0
    ? undefined
    : { node: greedy, parameters: { [nameOf(greedy.part)]: parts.join('/') } };
}

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
  if (others.length > 0) throw new TemplateFault('the embedded cloud serves one REST API, and the template has more');
  const root = buildTree(template, api);
  const types = api.properties['BinaryMediaTypes'];
  return {
    apiId: api.ref,
    stage: template.of('AWS::ApiGateway::Stage')[0]?.name ?? 'prod',
    binaryMediaTypes: Array.isArray(types) ? types.map(String) : [],
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
