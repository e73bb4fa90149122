/** The results of a loop's passes, as they are put away and as they come back. */
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, type PayloadRef, isJsonArray, isJsonObject } from '../json.ts';
import type { LoopState, PassResult } from '../log/loop-state.ts';
import { type LoadedPayloads, together, valueOf } from './context-at.ts';

export const storedResults = (results: readonly PassResult[]): readonly JsonObject[] =>
  results.map(({ index, payload }) => ({
    index,
    payload: 'ref' in payload ? { ref: payload.ref, bytes: payload.bytes } : { value: payload.value },
  }));

/** All results in the order of the items. Throws `PayloadsNeeded` for what was put away. */
export function allResults({ kept, fresh, items }: LoopState, loaded: LoadedPayloads): readonly JsonValue[] {
  const stored = together(kept.map((page) => () => readResults(valueOf(page, loaded)))).flat();
  const values = together(
    [...stored, ...fresh].map(({ index, payload }) => () => ({ index, value: valueOf(payload, loaded) })),
  );
  const inOrder: JsonValue[] = Array.from({ length: items }, () => null);
  for (const { index, value } of values) inOrder[index] = value;
  return inOrder;
}

const readResults = (page: JsonValue): readonly PassResult[] => {
  invariant(isJsonArray(page), 'results were put away as what is no array');
  return page.map((entry) => {
    invariant(isJsonObject(entry), 'a result was put away as what is no object');
    const { index, payload } = entry;
    invariant(typeof index === 'number' && isJsonObject(payload), 'a result was put away without its index');
    return { index, payload: readPayload(payload) };
  });
};

function readPayload({ value, ref, bytes }: JsonObject): Payload {
  if (value !== undefined) return { value };
  invariant(isRef(ref) && typeof bytes === 'number', 'a result was put away without its value');
  return { ref, bytes };
}

const isRef = (ref: JsonValue | undefined): ref is PayloadRef => typeof ref === 'string' && /^(item|blob):./.test(ref);
