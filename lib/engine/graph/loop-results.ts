/** Serializes the results of iterations for storage, and reads them back. */
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, type PayloadRef, isJsonArray, isJsonObject } from '../json.ts';
import type { LoopState, IterationResult } from '../log/loop-state.ts';
import { type LoadedPayloads, readAll, valueOf } from './context-at.ts';

export const serializeResults = (results: readonly IterationResult[]): readonly JsonObject[] =>
  results.map(({ index, payload }) => ({
    index,
    payload: 'ref' in payload ? { ref: payload.ref, bytes: payload.bytes } : { value: payload.value },
  }));

/** All results in the order of the items. Throws `PayloadsNeeded` for stored pages that are not loaded. */
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
  invariant(isJsonArray(page), 'a page of stored results is not an array');
  return page.map((entry) => {
    invariant(isJsonObject(entry), 'a stored result is not an object');
    const { index, payload } = entry;
    invariant(typeof index === 'number' && isJsonObject(payload), 'a stored result has no index or payload');
    return { index, payload: parsePayload(payload) };
  });
};

function parsePayload({ value, ref, bytes }: JsonObject): Payload {
  if (value !== undefined) return { value };
  invariant(isRef(ref) && typeof bytes === 'number', 'a stored result has no value');
  return { ref, bytes };
}

const isRef = (ref: JsonValue | undefined): ref is PayloadRef => typeof ref === 'string' && /^(item|blob):./.test(ref);
