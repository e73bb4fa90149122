/** Puts values into a template. */
import { asText } from '../engine/graph/template.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import { type Placeholder, type TemplatePart, labelKey } from './placeholders.ts';

/** Values by the key of their label; of two that differ in case alone the later one counts. */
export const byKey = (values: JsonObject): ReadonlyMap<string, JsonValue> =>
  new Map(Object.entries(values).map(([label, value]) => [labelKey(label), value]));

export type Rendered =
  | { readonly text: string }
  | { readonly unbound: readonly string[] }
  /** it is longer than was asked for, and was not made */
  | { readonly exceededLength: number };

/**
 * Texts stand as they are, everything else as JSON. Null is no value; an empty text is one.
 * @param isOptional whether the contract lets a label of that key be absent
 * @param maxLength characters of the text: the same large value may stand in it again and again, so they are counted as it is made
 * @returns the labels without a value that need one, where there are any
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
