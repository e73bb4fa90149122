/**
 * Conditions on edges. They are judged on what the edge would carry; where it is not met, the edge is dead, as if its source
 * had ended another way. A failure carries nothing, so on an error edge no condition is ever met.
 */
import { type Counter, containsText, isSameJson, noCounter } from '../compare.ts';
import { type JsonValue, isJsonArray, isJsonObject, childAt } from '../json.ts';
import type { NodeState } from '../log/node-state.ts';
import { type LoadedPayloads, valueOf } from './context-at.ts';
import type { EdgeCondition, EdgeDefinition } from './definition.ts';

type EdgeValueSource = Pick<EdgeDefinition, 'sourceOutputKey' | 'condition'>;

/**
 * What an edge brings of its source's output: `output`, or no key, is all of it, or the text of a lens's answer; a dotted path
 * leads into the output, or into the data of such an answer, and gives null where it leads nowhere. Digits are a place in a list.
 */
export function edgeValue({ sourceOutputKey: path }: EdgeValueSource, output: JsonValue): JsonValue {
  const answer = lensAnswerIn(output);
  if (path === undefined || path === 'output') return answer === undefined ? output : answer.text;
  const steps = path.split('.');
  return valueAtPath(output, steps) ?? valueAtPath(answer?.data, steps) ?? null;
}

const valueAtPath = (output: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined =>
  steps.reduce<JsonValue | undefined>(childAt, output);

/** An envelope, as lens nodes bring it, is known by its three texts. */
function lensAnswerIn(output: JsonValue): { readonly text: string; readonly data: JsonValue | undefined } | undefined {
  if (!isJsonObject(output)) return undefined;
  const { kind, artifactKind, output: text, data } = output;
  return typeof kind === 'string' && typeof artifactKind === 'string' && typeof text === 'string' ? { text, data } : undefined;
}

/** Throws `PayloadsNeeded` where the output of the source is stored apart and not loaded yet. */
export function isConditionMet(edge: EdgeValueSource, source: NodeState, loaded: LoadedPayloads, counter: Counter): boolean {
  if (edge.condition === undefined) return true;
  return source.status === 'completed' && isMet(edge.condition, edgeValue(edge, valueOf(source.output, loaded)), counter);
}

export function isMet(condition: EdgeCondition, value: JsonValue, counter: Counter = noCounter): boolean {
  switch (condition.type) {
    case 'equals':
      return isSameJson(value, condition.value, counter);
    case 'contains':
      return contains(value, condition.value, counter);
    case 'present':
      return value !== null;
    case 'truthy':
      return value !== null && value !== false && value !== 0 && value !== '';
  }
}

/** A part of a text, an item of a list, a key of an object. */
function contains(value: JsonValue, expected: JsonValue, counter: Counter): boolean {
  if (isJsonArray(value)) return value.some((item) => isSameJson(item, expected, counter));
  if (typeof expected !== 'string') return false;
  if (typeof value !== 'string') return isJsonObject(value) && Object.hasOwn(value, expected);
  counter.addComparisons(value.length + expected.length);
  return containsText(value, expected);
}
