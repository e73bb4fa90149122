/** The output of a simulated node: a digest of its inputs, so that different inputs give different outputs. */
import { type JsonValue, isJsonObject } from '../../lib/engine/json.ts';
import type { NodeInput } from '../../lib/engine/graph/plan.ts';

/** What a node can see: its inputs, and the whole of its context. */
interface Given {
  readonly inputs: JsonValue;
  readonly context: JsonValue;
}

/** @throws PayloadsNeeded where some of it is stored apart */
export const nodeInputDigest = ({ inputs, context }: NodeInput): number =>
  digestOf({ inputs, context: context.all({ hidden: true }) });

/** FNV-1a of its JSON, with sorted keys. */
export function digestOf({ inputs, context }: Given): number {
  const text = JSON.stringify([inputs, context], (_key, each: JsonValue) => (isJsonObject(each) ? sorted(each) : each));
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

const sorted = (value: { readonly [key: string]: JsonValue }): JsonValue =>
  Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
