/** Renders a template with values. */
import { asText } from '../engine/graph/template.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import { type Placeholder, type TemplatePart, labelKey } from './placeholders.ts';

/** Values by normalized label; of two labels with the same key, the later one wins. */
export const byKey = (values: JsonObject): ReadonlyMap<string, JsonValue> =>
  new Map(Object.entries(values).map(([label, value]) => [labelKey(label), value]));

export type Rendered =
  | { readonly text: string }
  | { readonly unbound: readonly string[] }
  /** the text exceeds `maxLength` and was not built */
  | { readonly exceededLength: number };

/**
 * Strings are inserted unchanged, other values as JSON. Null counts as absent; an empty string does not.
 * @param isOptional whether the contract allows the label of a key to be absent
 * @param maxLength in characters; counted while rendering, because a template may repeat a large value
 * @returns the text, or the labels without a required value
 */
export function render(
  parts: readonly TemplatePart[],
  values: ReadonlyMap<string, JsonValue>,
  isOptional: (key: string) => boolean,
  maxLength: number,
): Rendered {
  const unbound = new Set<string>();
  const texts: string[] = [];
  let length = 0;
  for (const part of parts) {
    const text = 'text' in part ? part.text : fill(part.placeholder);
    length += text.length;
    if (length <= maxLength) texts.push(text);
  }
  if (unbound.size > 0) return { unbound: [...unbound] };
  return length > maxLength ? { exceededLength: length } : { text: texts.join('') };

  function fill({ key, label, isOptional: isMarkedOptional }: Placeholder): string {
    const value = values.get(key);
    if ((value === undefined || value === null) && !isMarkedOptional && !isOptional(key)) unbound.add(label);
    return length > maxLength ? '' : asText(value);
  }
}
