/** The items and results of a loop: their limits, the sizes of their pages, and how iterations read and store them. */
import { defined } from '../../base/defined.ts';
import { type IterationKey, nodeKey } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, type PayloadRef, inline, isJsonArray, isJsonObject } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { type IterationResult, type LoopState, payloadSize } from '../log/node-state.ts';
import { type LoadedPayloads, itemOf, readAll, valueOf } from './context.ts';
import type { Draft } from './draft.ts';
import type { PlanLoop, PlanNode } from './plan.ts';

/** Limits of loops. */
export const loopLimits = {
  items: 100_000,
  /** iterations at a time */
  concurrency: 1_000,
  /** all results together, as JSON: readers hold them in memory at once */
  resultsBytes: 16_777_216,
  /** nested loops; each level makes the iteration keys inside it longer */
  depth: 5,
} as const;

/** A decision with this many events begins no more iterations; a wake-up continues in the next commit. */
export const maxEventsPerDecision = 250;

/** Minimum entries per page of items or results; there are never more than about a hundred pages. */
const minPageSize = 100;
const maxPages = 100;
export const pageSizeOf = (items: number): number => Math.max(minPageSize, Math.ceil(items / maxPages));

/** Maximum length as JSON of an item that its start event carries, so that its page need not be loaded. */
const maxInlineItemSize = 1_024;

/** Pending results of this total size are stored, however few they are. */
export const maxPendingResultsSize = 65_536;

/** Puts a small item into the start event if readers would have to load its page otherwise. */
export function inlineItem(draft: Draft, loop: LoopState): { readonly item?: Payload } {
  const page = loop.pages[Math.floor(loop.next / loop.pageSize)];
  if (page === undefined || 'value' in page) return {};
  const item = inline(itemOf(loop, { index: loop.next }, draft.tools.loaded));
  return payloadSize(item) > maxInlineItemSize ? {} : { item };
}

/** The output of the node that ended the iteration; of several nodes, their outputs by label; of none, null. */
export function resultOf(draft: Draft, { resultNodes }: PlanLoop, iteration: IterationKey) {
  const ended = resultNodes.flatMap((node) => {
    const state = draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration }));
    return state?.status === 'completed' ? [{ node, output: state.output }] : [];
  });
  const [only] = ended;
  if (only === undefined) return { result: inline(null) };
  if (ended.length === 1) return { from: only.node.id };
  const values = readAll(
    ended.map(({ node, output }) => (): readonly [string, JsonValue] => [
      labelOf(node, resultNodes),
      valueOf(output, draft.tools.loaded),
    ]),
  );
  return { result: inline(Object.fromEntries(values)) };
}

const labelOf = (node: PlanNode, all: readonly PlanNode[]): string =>
  node.label === undefined || all.some((other) => other !== node && other.label === node.label) ? node.id : node.label;

/**
 * The result of a failed item, which is part of the loop's output. What the attempt saw stays with the failure of the node, so that the
 * output does not carry it further and does not grow by it.
 */
export const failedItem = ({ cause, message, code, details = {} }: Failure): JsonObject => {
  const { input: _input, request: _request, ...others } = details;
  return {
    success: false,
    error: defined({ cause, message, code, details: Object.keys(others).length === 0 ? undefined : others }),
  };
};

/** The failure of the loop. A timeout in its body is not the loop's own timeout; the details name it. */
export const itemFailure = (index: number, { cause, message, details }: Failure): Failure => ({
  cause: cause === 'timeout' ? 'error' : cause,
  code: 'loop_item_failed',
  message: `item ${index} failed: ${message}`,
  details: defined({ index, itemCause: cause, itemNodeId: details?.['nodeId'] === undefined ? undefined : details['nodeId'] }),
});

/** The results of iterations as they are stored; `parseResults` reads them back. */
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
