/** The REST API's resources as a tree of path segments, each with its methods. */
import * as z from 'zod';
import type { Resource, Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { limits } from './limits.ts';

export interface Method {
  readonly functionArn: string;
  readonly timeoutMs: number;
  /** whether the response is sent chunk by chunk */
  readonly isStreaming: boolean;
}

export interface RouteNode {
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
  return { ...parsed.data, method: { functionArn, isStreaming, timeoutMs: Integration.TimeoutInMillis ?? limits.integrationMs } };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export function buildTree(template: Template, api: Resource): RouteNode {
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
