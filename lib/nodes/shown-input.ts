/**
 * What a failed attempt saw after templates. Its failure stores it in `details.input`, bounded and without secrets. An `http` node
 * stores its request instead. A successful attempt stores nothing of it.
 */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import { WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import type { NodeInput } from '../engine/graph/plan.ts';
import type { SecretMask } from '../egress/secret-mask.ts';
import { namesInCode } from './context-reads.ts';
import type { RunResult } from './runner.ts';

/** In characters, except `values`. Together with the rest of the details they fit into a failure. */
export const shownInputLimits = { values: 10, value: 300, allValues: 2_000, prompt: 1_000 } as const;

export const hidden = '[hidden]';

/** Names whose values are often credentials that an author wrote into the definition. */
export const isSensitive = (name: string): boolean =>
  name !== 'idempotency-key' && /auth|cookie|credential|key|password|secret|session|signature|token/i.test(name);

export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;

/**
 * Adds what the attempt saw to its failure. Other results stay as they are.
 * @param show undefined: there is nothing to show
 */
export function withDetail(result: RunResult, name: 'input' | 'request', show: () => JsonObject | undefined): RunResult {
  const { outcome } = result;
  if (outcome.kind !== 'failed') return result;
  const shown = unlessTooMuchWork(show);
  if (shown === undefined) return result;
  const details = { ...outcome.failure.details, [name]: shown };
  return { ...result, outcome: { ...outcome, failure: { ...outcome.failure, details } } };
}

/** The attempt has its failure already. A second failure, because the templates need too much work, must not replace it. */
function unlessTooMuchWork<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof WorkLimitExceeded) return undefined;
    throw error;
  }
}

/** Short values as they are, long ones as the beginning of their JSON. Values after the limits are counted in `omitted`. */
export function shownValues(values: JsonObject, mask: SecretMask): JsonObject {
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
function shownValue(value: JsonValue, mask: SecretMask): JsonValue {
  const masked = mask.value(value);
  if (typeof masked === 'string') return cut(masked, shownInputLimits.value);
  const json = JSON.stringify(masked);
  return json.length <= shownInputLimits.value ? masked : cut(json, shownInputLimits.value);
}

export const shownPrompt = (prompt: string, mask: SecretMask): string => cut(mask.text(prompt), shownInputLimits.prompt);

/** The values of the context names that a script reads, the names among them that have no value, and its inputs if it reads them. */
export function shownScriptInput(code: string, { context, inputs }: NodeInput, mask: SecretMask): JsonObject | undefined {
  const names = namesInCode(code);
  const readsInputs = /\binputs\b/.test(code);
  if (names.length === 0 && !readsInputs) return undefined;
  const values = names.map((name) => [name, context.get(name)] as const);
  const unset = values.flatMap(([name, value]) => (value === undefined ? [name] : [])).slice(0, shownInputLimits.values);
  return {
    ctx: shownValues(Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))), mask),
    ...(unset.length === 0 ? {} : { unset }),
    ...(readsInputs ? { inputs: shownValues(inputs, mask) } : {}),
  };
}
