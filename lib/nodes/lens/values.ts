/** The values for a lens's template: inputs from edges, overridden by the node's `paramOverrides`. */
import { type ContextView } from '../../engine/graph/context.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { type JsonObject, type JsonValue, isJsonObject, childAt } from '../../engine/json.ts';
import { labelKey } from '../../lens/placeholders.ts';
import type { LensConfig } from './shape.ts';

export function valuesOf(config: Pick<LensConfig, 'paramOverrides' | 'param_overrides'>, input: NodeInput): JsonObject {
  const overrides = Object.entries(config.paramOverrides ?? config.param_overrides ?? {}).map(
    ([label, value]): readonly [string, JsonValue] => [label, overrideOf(value, input.context)],
  );
  const overridden = new Set(overrides.map(([label]) => labelKey(label)));
  const fromEdges = Object.entries(input.inputs).filter(([label]) => !overridden.has(labelKey(label)));
  // The prompt and the input contract use these values.
  const values = Object.fromEntries([...fromEdges, ...overrides]);
  input.context.work.value(values);
  return values;
}

/** `[[nodeId.path]]`: the lens document's reference to another node's output. */
const upstream = /^\s*\[\[\s*([A-Za-z0-9_:-]{1,128})((?:\.[^.[\]\s]{1,128}){0,20})\s*\]\]\s*$/;

function overrideOf(value: JsonValue, context: ContextView): JsonValue {
  const [, nodeId, path = ''] = (typeof value === 'string' ? upstream.exec(value) : null) ?? [];
  if (nodeId === undefined) return resolveTemplate(value, context);
  const result = context.get(`__node_${nodeId}`);
  let found: JsonValue | undefined = isJsonObject(result) ? result['output'] : undefined;
  for (const step of path.split('.').slice(1)) found = childAt(found, step);
  return found ?? null;
}
