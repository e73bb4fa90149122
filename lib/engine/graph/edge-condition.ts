/**
 * Conditions on edges. They are judged on what the edge would carry; where it is not met, the edge is dead, as if its source
 * had ended another way. A failure carries nothing, so on an error edge no condition is ever met.
 */
import { type Counter, holdsText, isSameJson, uncounted } from '../compare.ts';
import { type JsonValue, isJsonArray, isJsonObject, stepInto } from '../json.ts';
import type { NodeState } from '../log/node-state.ts';
import { type LoadedPayloads, valueOf } from './context-at.ts';
import type { EdgeCondition, EdgeDefinition } from './definition.ts';

type Carrying = Pick<EdgeDefinition, 'sourceOutputKey' | 'condition'>;

/**
 * What an edge brings of its source's output: `output`, or no key, is all of it, or the text of a lens's answer; a dotted path
 * leads into the output, or into the data of such an answer, and gives null where it leads nowhere. Digits are a place in a list.
 */
export function carried({ sourceOutputKey: path }: Carrying, output: JsonValue): JsonValue {
  const answer = answerIn(output);
  if (path === undefined || path === 'output') return answer === undefined ? output : answer.text;
  const steps = path.split('.');
  return at(output, steps) ?? at(answer?.data, steps) ?? null;
}

const at = (output: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined =>
  steps.reduce<JsonValue | undefined>(stepInto, output);

/** An envelope, as lens nodes bring it, is known by its three texts. */
function answerIn(output: JsonValue): { readonly text: string; readonly data: JsonValue | undefined } | undefined {
  if (!isJsonObject(output)) return undefined;
  const { kind, artifactKind, output: text, data } = output;
  return typeof kind === 'string' && typeof artifactKind === 'string' && typeof text === 'string' ? { text, data } : undefined;
}

/** Throws `PayloadsNeeded` where the output of the source is stored apart and not loaded yet. */
export function isConditionMet(edge: Carrying, source: NodeState, loaded: LoadedPayloads, counter: Counter): boolean {
  if (edge.condition === undefined) return true;
  return source.status === 'completed' && isMet(edge.condition, carried(edge, valueOf(source.output, loaded)), counter);
}

export function isMet(condition: EdgeCondition, value: JsonValue, counter: Counter = uncounted): boolean {
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
function contains(value: JsonValue, wanted: JsonValue, counter: Counter): boolean {
  if (isJsonArray(value)) return value.some((item) => isSameJson(item, wanted, counter));
  if (typeof wanted !== 'string') return false;
  if (typeof value !== 'string') return isJsonObject(value) && Object.hasOwn(value, wanted);
  counter.looking(value.length + wanted.length);
  return holdsText(value, wanted);
}
