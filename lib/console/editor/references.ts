/** References of a node's config to the ids of other nodes: a value `[[id.path]]` of a lens. */
import type { NodeDefinition } from '../../engine/graph/definition.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';

const lensValues: readonly string[] = ['paramOverrides', 'param_overrides'];

/** The pattern of `lib/nodes/lens/prompt.ts`: the text before the id, the id, and the text after it. */
const reference = /^(\s*\[\[\s*)([A-Za-z0-9_:-]{1,128})((?:\.[^.[\]\s]{1,128}){0,20}\s*\]\]\s*)$/;

export function withRenamedReferences({ type, config }: NodeDefinition, from: string, to: string): JsonObject {
  if (type !== 'lens') return config;
  const renamed = (value: JsonValue): JsonValue => {
    const [, open, id, close] = (typeof value === 'string' ? reference.exec(value) : null) ?? [];
    return open !== undefined && id === from ? `${open}${to}${close ?? ''}` : value;
  };
  const mapped = (value: JsonValue): JsonValue =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, renamed(each)])) : value;
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, lensValues.includes(key) ? mapped(value) : value]),
  );
}
