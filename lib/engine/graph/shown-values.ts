/** Values as a failure stores them: bounded, without secrets, and without values whose names suggest a credential. */
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';

/** In characters, except `values`. Together with the rest of the details they fit into a failure. */
export const shownInputLimits = { values: 10, value: 300, allValues: 2_000, prompt: 1_000 } as const;

export const hidden = '[hidden]';

/** Names whose values are often credentials that an author wrote into the definition. */
export const isSensitive = (name: string): boolean =>
  name !== 'idempotency-key' && /auth|cookie|credential|key|password|secret|session|signature|token/i.test(name);

export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;

/** Replaces the secrets that an attempt used. */
export interface ValueMask {
  text(text: string): string;
  value(value: JsonValue): JsonValue;
}

/** For nodes that are decided without an attempt: only attempts use secrets, and their results are masked. */
const noMask: ValueMask = { text: (text) => text, value: (value) => value };

/** A value that a node was decided with. */
export const shownInput = (value: JsonValue): JsonValue =>
  isJsonObject(value) ? shownValues(value, noMask) : shownValue(value, noMask);

/** Short values as they are, long ones as the beginning of their JSON. Values after the limits are counted in `omitted`. */
export function shownValues(values: JsonObject, mask: ValueMask): JsonObject {
  const entries = Object.entries(values);
  const shown: (readonly [string, JsonValue])[] = [];
  let length = 0;
  for (const [name, value] of entries.slice(0, shownInputLimits.values)) {
    const entry = [cut(mask.text(name), shownInputLimits.value), isSensitive(name) ? hidden : shownValue(value, mask)] as const;
    length += JSON.stringify(entry).length;
    if (length > shownInputLimits.allValues) break;
    shown.push(entry);
  }
  const omitted = entries.length - shown.length;
  return { ...Object.fromEntries(shown), ...(omitted === 0 ? {} : { omitted }) };
}

/** Masked before it is cut, because a part of a secret would not be found. */
function shownValue(value: JsonValue, mask: ValueMask): JsonValue {
  const masked = mask.value(value);
  if (typeof masked === 'string') return cut(masked, shownInputLimits.value);
  const json = JSON.stringify(masked);
  return json.length <= shownInputLimits.value ? masked : cut(json, shownInputLimits.value);
}
