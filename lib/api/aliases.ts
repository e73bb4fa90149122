/**
 * The documents' own spellings, accepted at the door: the lens document's snake_case of a definition's keys, and the graph
 * document's names of a start's input. Ours are what is stored and answered. A node's config is not looked into: its type
 * reads its own spellings.
 */

const edgeAliases = {
  source_node_id: 'source',
  target_node_id: 'target',
  source_handle: 'sourceHandle',
  source_output_key: 'sourceOutputKey',
  target_param_label: 'targetParamLabel',
  merge_strategy: 'mergeStrategy',
} as const;
const optionAliases = { deadline_seconds: 'deadlineSeconds', max_concurrent_runs: 'maxConcurrentRuns' } as const;
const inputAliases = { inputParams: 'input', inputValues: 'input' } as const;
/** Settings that the lens document writes on the node itself; they belong to its config. */
const nodeSettings = ['on_parent_failure', 'timeout_ms', 'retry', 'merge', 'join_mode', 'error_handling'] as const;

type Keyed = Readonly<Record<string, unknown>>;
const isKeyed = (value: unknown): value is Keyed => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Renames; where a key is given in two spellings both stay, and an alias is refused as the unknown key it then is. */
const renamed = (value: unknown, aliases: Readonly<Record<string, string>>): unknown => {
  if (!isKeyed(value)) return value;
  const nameOf = (key: string): string => (Object.hasOwn(aliases, key) ? (aliases[key] ?? key) : key);
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of Object.keys(value).map(nameOf)) (seen.has(name) ? twice : seen).add(name);
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [twice.has(nameOf(key)) ? key : nameOf(key), held]));
};

/** A node with its settings in its config, and without a label that is null. */
const settled = (given: unknown): unknown => {
  if (!isKeyed(given)) return given;
  const { label, ...rest } = given;
  const node: Keyed = label === null ? rest : given;
  const config = node['config'] ?? {};
  const moved = nodeSettings.filter((key) => Object.hasOwn(node, key) && isKeyed(config) && !Object.hasOwn(config, key));
  if (moved.length === 0 || !isKeyed(config)) return node;
  const kept = Object.entries(node).filter(([key]) => !moved.some((setting) => setting === key));
  return { ...Object.fromEntries(kept), config: { ...config, ...Object.fromEntries(moved.map((key) => [key, node[key]])) } };
};

const each = (list: unknown, change: (item: unknown) => unknown): unknown => (Array.isArray(list) ? list.map(change) : list);

/** A definition's body with every known alias replaced; anything else is left for the schema to judge. */
export const canonicalDefinition = (body: unknown): unknown => {
  if (!isKeyed(body)) return body;
  return {
    ...body,
    ...(Object.hasOwn(body, 'nodes') ? { nodes: each(body['nodes'], settled) } : {}),
    ...(Object.hasOwn(body, 'edges') ? { edges: each(body['edges'], (edge) => renamed(edge, edgeAliases)) } : {}),
    ...(Object.hasOwn(body, 'options') ? { options: renamed(body['options'], optionAliases) } : {}),
  };
};

/** The body of a start, its input under our name. */
export const canonicalStart = (body: unknown): unknown => renamed(body, inputAliases);
