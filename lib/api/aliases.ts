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

type JsonRecord = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is JsonRecord => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Renames; where a key is given in two spellings both stay, and an alias is refused as the unknown key it then is. */
const renameKeys = (value: unknown, aliases: Readonly<Record<string, string>>): unknown => {
  if (!isRecord(value)) return value;
  const canonicalName = (key: string): string => (Object.hasOwn(aliases, key) ? (aliases[key] ?? key) : key);
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const name of Object.keys(value).map(canonicalName)) (seen.has(name) ? duplicates : seen).add(name);
  return Object.fromEntries(
    Object.entries(value).map(([key, entryValue]) => [duplicates.has(canonicalName(key)) ? key : canonicalName(key), entryValue]),
  );
};

/** A node with its settings in its config, and without a label that is null. */
const normalizeNode = (value: unknown): unknown => {
  if (!isRecord(value)) return value;
  const { label, ...rest } = value;
  const node: JsonRecord = label === null ? rest : value;
  const config = node['config'] ?? {};
  const movedSettings = nodeSettings.filter((key) => Object.hasOwn(node, key) && isRecord(config) && !Object.hasOwn(config, key));
  if (movedSettings.length === 0 || !isRecord(config)) return node;
  const remainingEntries = Object.entries(node).filter(([key]) => !movedSettings.some((setting) => setting === key));
  return {
    ...Object.fromEntries(remainingEntries),
    config: { ...config, ...Object.fromEntries(movedSettings.map((key) => [key, node[key]])) },
  };
};

const mapItems = (list: unknown, change: (item: unknown) => unknown): unknown => (Array.isArray(list) ? list.map(change) : list);

/** A definition's body with every known alias replaced; anything else is left for the schema to judge. */
export const canonicalDefinition = (body: unknown): unknown => {
  if (!isRecord(body)) return body;
  return {
    ...body,
    ...(Object.hasOwn(body, 'nodes') ? { nodes: mapItems(body['nodes'], normalizeNode) } : {}),
    ...(Object.hasOwn(body, 'edges') ? { edges: mapItems(body['edges'], (edge) => renameKeys(edge, edgeAliases)) } : {}),
    ...(Object.hasOwn(body, 'options') ? { options: renameKeys(body['options'], optionAliases) } : {}),
  };
};

/** The body of a start, its input under our name. */
export const canonicalStart = (body: unknown): unknown => renameKeys(body, inputAliases);
