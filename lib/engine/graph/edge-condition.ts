/**
 * Conditions on edges, evaluated on the value that the edge carries. If the condition is not met, the edge is dead, as if its source
 * had ended by another handle. A failure carries no value, so a condition on an error edge is never met.
 */
import { type Counter, containsText, isSameJson, noCounter } from '../compare.ts';
import { type JsonValue, isJsonArray, isJsonObject, childAt } from '../json.ts';
import type { NodeState } from '../log/node-state.ts';
import { type LoadedPayloads, valueOf } from './context-at.ts';
import type { EdgeCondition, EdgeDefinition } from './definition.ts';

type EdgeValueSource = Pick<EdgeDefinition, 'sourceOutputKey' | 'condition'>;

/**
 * The part of its source's output that an edge carries. `output`, or no key, is the whole output, or the text of a lens envelope. A
 * dotted path reads from the output, or from the envelope's data; it gives null if nothing is there. Digits are array indexes.
 */
export function edgeValue({ sourceOutputKey: path }: EdgeValueSource, output: JsonValue): JsonValue {
  const envelope = lensEnvelopeIn(output);
  if (path === undefined || path === 'output') return envelope === undefined ? output : envelope.text;
  const steps = path.split('.');
  return valueAtPath(output, steps) ?? valueAtPath(envelope?.data, steps) ?? null;
}

const valueAtPath = (output: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined =>
  steps.reduce<JsonValue | undefined>(childAt, output);

/** An envelope of a lens node is recognised by its three text fields. */
function lensEnvelopeIn(output: JsonValue): { readonly text: string; readonly data: JsonValue | undefined } | undefined {
  if (!isJsonObject(output)) return undefined;
  const { kind, artifactKind, output: text, data } = output;
  return typeof kind === 'string' && typeof artifactKind === 'string' && typeof text === 'string' ? { text, data } : undefined;
}

/** Throws `PayloadsNeeded` if the source's output is offloaded and not loaded. */
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

/** A substring of a text, an item of an array, a key of an object. */
function contains(value: JsonValue, expected: JsonValue, counter: Counter): boolean {
  if (isJsonArray(value)) return value.some((item) => isSameJson(item, expected, counter));
  if (typeof expected !== 'string') return false;
  if (typeof value !== 'string') return isJsonObject(value) && Object.hasOwn(value, expected);
  counter.addComparisons(value.length + expected.length);
  return containsText(value, expected);
}
