/** The results of a loop's passes, as they are put away and as they come back. */
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, type PayloadRef, isJsonArray, isJsonObject } from '../json.ts';
import type { LoopState, IterationResult } from '../log/loop-state.ts';
import { type LoadedPayloads, readAll, valueOf } from './context-at.ts';

export const serializeResults = (results: readonly IterationResult[]): readonly JsonObject[] =>
  results.map(({ index, payload }) => ({
    index,
    payload: 'ref' in payload ? { ref: payload.ref, bytes: payload.bytes } : { value: payload.value },
  }));

/** All results in the order of the items. Throws `PayloadsNeeded` for what was put away. */
export function allResults(
  { stored: storedPages, pendingResults, items }: LoopState,
  loaded: LoadedPayloads,
): readonly JsonValue[] {
  const storedResults = readAll(storedPages.map((page) => () => parseResults(valueOf(page, loaded)))).flat();
  const values = readAll(
    [...storedResults, ...pendingResults].map(({ index, payload }) => () => ({ index, value: valueOf(payload, loaded) })),
  );
  const inOrder: JsonValue[] = Array.from({ length: items }, () => null);
  for (const { index, value } of values) inOrder[index] = value;
  return inOrder;
}

const parseResults = (page: JsonValue): readonly IterationResult[] => {
  invariant(isJsonArray(page), 'results were put away as what is no array');
  return page.map((entry) => {
    invariant(isJsonObject(entry), 'a result was put away as what is no object');
    const { index, payload } = entry;
    invariant(typeof index === 'number' && isJsonObject(payload), 'a result was put away without its index');
    return { index, payload: parsePayload(payload) };
  });
};

function parsePayload({ value, ref, bytes }: JsonObject): Payload {
  if (value !== undefined) return { value };
  invariant(isRef(ref) && typeof bytes === 'number', 'a result was put away without its value');
  return { ref, bytes };
}

const isRef = (ref: JsonValue | undefined): ref is PayloadRef => typeof ref === 'string' && /^(item|blob):./.test(ref);
