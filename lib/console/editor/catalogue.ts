/**
 * What the editor knows about node types: the server's own code. Two parts are missing in the browser, and the server checks them: the
 * syntax of scripts and the patterns of regular expressions (`lib/console/browser`).
 */
import './without-eval.ts';
import type { EdgeDefinition, NodeDefinition, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { completedHandle, errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { effectiveHandle } from '../../engine/graph/shape.ts';
import { inspectNode } from '../../nodes/catalogue.ts';
import { nodeTypes } from '../../nodes/node-types.ts';
import { isJsonArray, isJsonObject } from '../../engine/json.ts';

/** The handles that edges can use, and those that edges of an incomplete node use already. */
export function handlesOf(node: NodeDefinition, edges: readonly EdgeDefinition[]): readonly string[] {
  const used = edges.filter(({ source }) => source === node.id).map(effectiveHandle);
  const own = inspectNode(node).facts?.handles ?? expectedHandles(node);
  // `completed` is another name of `done`.
  const shown = own.filter((handle) => handle !== completedHandle || used.includes(handle));
  return [...new Set([...shown, ...used])];
}

/** The handles of a node whose config is not valid yet. */
function expectedHandles({ type, config }: NodeDefinition): readonly string[] {
  if (type === 'end') return [];
  if (type === 'loop') return ['loop', 'done', errorHandle];
  if (type !== 'condition') return [mainHandle, errorHandle];
  const { branches, defaultBranch } = config;
  const ids = (isJsonArray(branches) ? branches : []).flatMap((branch) => {
    const id = isJsonObject(branch) ? branch['id'] : undefined;
    return typeof id === 'string' && id !== '' ? [id] : [];
  });
  return [...ids, typeof defaultBranch === 'string' ? defaultBranch : 'default', errorHandle];
}

export interface ContextName {
  readonly name: string;
  /** the node that writes it; undefined: the input of the run */
  readonly by: string | undefined;
}

/** The names under `ctx` that are written before the node runs: by the nodes from which a path leads to it. */
export function contextNamesFor({ nodes, edges }: WorkflowDefinition, id: string): readonly ContextName[] {
  const before = new Set<string>([id]);
  for (const target of before) for (const edge of edges) if (edge.target === target) before.add(edge.source);
  const written = nodes
    .filter((node) => before.has(node.id) && node.id !== id)
    .flatMap((node) => (inspectNode(node).facts?.writes ?? []).map((name) => ({ name, by: node.id })));
  return [{ name: 'input', by: undefined }, ...written];
}

/** @param path the type of the node, and the names of the fields without the indexes of arrays */
export const acceptsSecrets = ([type = '', key = '']: readonly string[]): boolean =>
  nodeTypes.get(type)?.secretKeys.includes(key) === true;
