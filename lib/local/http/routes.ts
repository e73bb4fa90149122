/** Finds the REST API's method for a request. */
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { buildTree, type Method, type RouteNode } from './route-tree.ts';

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
