/**
 * Aliases that the API accepts: the snake_case keys of definitions in the lens document, and the names of the graph document. Only
 * canonical names are stored and returned. Settings inside the config of a node are not changed: its node type reads aliases.
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
/** `createWorkflow({ title, nodes, edges, workflowOptions })` of the graph document. */
const definitionAliases = { title: 'name', workflowOptions: 'options' } as const;
const viewAliases = { widgetConfig: 'config' } as const;
const inputAliases = { inputParams: 'input', inputValues: 'input' } as const;
/** Settings that the lens document puts on the node; they are moved to its config. */
const nodeSettings = ['on_parent_failure', 'timeout_ms', 'retry', 'merge', 'join_mode', 'error_handling'] as const;

type JsonRecord = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is JsonRecord => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Renames aliases. If a key and its alias are both present, both stay, and the schema refuses the alias as unknown. */
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

/** The reference of a node to its lens, as the lens document has it: such a node has no type. A null version is the latest one. */
const lensReferences = { lens_id: 'lens', version_id: 'version' } as const;

/** Version numbers of other stores are texts. */
const versionOf = (value: unknown): unknown => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value);

/** Moves `lens_id` and `version_id` to the config. If the config has one of them already, all stay, and the schema refuses them. */
const normalizeLens = (node: JsonRecord): JsonRecord => {
  const config = node['config'] ?? {};
  if (!Object.hasOwn(node, 'lens_id') || !isRecord(config)) return node;
  if (Object.values(lensReferences).some((key) => Object.hasOwn(config, key))) return node;
  const { lens_id: lens, version_id: version = null, ...rest } = node;
  return { type: 'lens', ...rest, config: { ...config, lens, ...(version === null ? {} : { version: versionOf(version) }) } };
};

/** `ordinal` is the position of a node. If each node has one, the list is put in that order; otherwise the schema refuses the key. */
const inOrdinalOrder = (nodes: unknown): unknown => {
  if (!Array.isArray(nodes) || nodes.length === 0) return nodes;
  const positions = nodes.flatMap((node: unknown) => {
    const ordinal = isRecord(node) ? node['ordinal'] : undefined;
    return isRecord(node) && typeof ordinal === 'number' && Number.isSafeInteger(ordinal) ? [{ node, ordinal }] : [];
  });
  if (positions.length < nodes.length) return nodes;
  return positions
    .toSorted((one, other) => one.ordinal - other.ordinal)
    .map(({ node }) => Object.fromEntries(Object.entries(node).filter(([key]) => key !== 'ordinal')));
};

/** Moves the settings of a node to its config, and removes a null label. */
const normalizeNode = (value: unknown): unknown => {
  if (!isRecord(value)) return value;
  const { label, ...rest } = value;
  const node = normalizeLens(label === null ? rest : value);
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

/** Replaces every known alias in a definition. The schema validates the rest. */
export const canonicalDefinition = (given: unknown): unknown => {
  const body = renameKeys(given, definitionAliases);
  if (!isRecord(body)) return body;
  return {
    ...body,
    ...(Object.hasOwn(body, 'nodes') ? { nodes: mapItems(inOrdinalOrder(body['nodes']), normalizeNode) } : {}),
    ...(Object.hasOwn(body, 'edges') ? { edges: mapItems(body['edges'], (edge) => renameKeys(edge, edgeAliases)) } : {}),
    ...(Object.hasOwn(body, 'options') ? { options: renameKeys(body['options'], optionAliases) } : {}),
  };
};

/** Replaces the aliases in the body of a view, as `getRunStatusForWidget` of the graph document has them. */
export const canonicalView = (body: unknown): unknown => renameKeys(body, viewAliases);

/** Replaces the aliases of the input in the body of a start. */
export const canonicalStart = (body: unknown): unknown => renameKeys(body, inputAliases);

/** The same for each start of a batch. */
export function canonicalStartBatch(body: unknown): unknown {
  if (!isRecord(body) || !Array.isArray(body['runs'])) return body;
  return { ...body, runs: body['runs'].map(canonicalStart) };
}
