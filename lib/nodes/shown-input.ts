/**
 * What a failed attempt saw after templates. Its failure stores it in `details.input`, bounded and without secrets. An `http` node
 * stores its request instead. A successful attempt stores nothing of it.
 */
import type { JsonObject } from '../engine/json.ts';
import { cut, shownInputLimits, shownValues } from '../engine/graph/shown-values.ts';
import { WorkLimitExceeded } from '../engine/graph/work-limits.ts';
import type { NodeInput } from '../engine/graph/plan.ts';
import type { SecretMask } from '../egress/secret-mask.ts';
import { namesInCode } from './context-reads.ts';
import type { RunResult } from './runner.ts';

export { shownValues } from '../engine/graph/shown-values.ts';

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
