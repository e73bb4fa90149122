/** Puts values into a template. */
import { asText } from '../engine/graph/template.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import { type TemplatePart, labelKey } from './placeholders.ts';

/** Values by the key of their label; of two that differ in case alone the later one counts. */
export const byKey = (values: JsonObject): ReadonlyMap<string, JsonValue> =>
  new Map(Object.entries(values).map(([label, value]) => [labelKey(label), value]));

export type Rendered = { readonly text: string } | { readonly unbound: readonly string[] };

/**
 * Texts stand as they are, everything else as JSON. Null is no value; an empty text is one.
 * @param isOptional whether the contract lets a label of that key be absent
 * @returns the labels without a value that need one, where there are any
 */
export function render(
  parts: readonly TemplatePart[],
  values: ReadonlyMap<string, JsonValue>,
  isOptional: (key: string) => boolean,
): Rendered {
  const unbound = new Set<string>();
  const texts = parts.map((part) => {
    if ('text' in part) return part.text;
    const { key, label, isOptional: saysOptional } = part.placeholder;
    const value = values.get(key);
    if ((value === undefined || value === null) && !saysOptional && !isOptional(key)) unbound.add(label);
    return asText(value);
  });
  return unbound.size > 0 ? { unbound: [...unbound] } : { text: texts.join('') };
}
