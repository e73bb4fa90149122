/** Results of iterations are stored together, and read back in the order of the items. */
import { describe, expect, test } from 'vitest';
import { PayloadsNeeded } from '../../../lib/engine/graph/context.ts';
import { allResults, failedItem, serializeResults } from '../../../lib/engine/graph/loop-values.ts';
import type { JsonValue, Payload, PayloadRef } from '../../../lib/engine/json.ts';
import type { LoopState, IterationResult } from '../../../lib/engine/log/node-state.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';

const loopOf = (items: number, stored: readonly Payload[], pendingResults: readonly IterationResult[]): LoopState => ({
  itemVariable: 'item',
  indexVariable: 'index',
  concurrency: 1,
  delayMs: seconds(0),
  onItemFailure: 'fail',
  startedAt: dawn,
  items,
  pages: [],
  pageSize: 1,
  next: items,
  open: [],
  failed: 0,
  pendingResults,
  pendingSize: 0,
  totalSize: 0,
  stored,
});

const result = (index: number, value: JsonValue): IterationResult => ({ index, payload: { value } });
const apart = (index: number, ref: PayloadRef): IterationResult => ({ index, payload: { ref, bytes: 9 } });
const nothing = new Map<PayloadRef, JsonValue>();

test('the result of a failed item has the details of the failure without what the attempt saw', () => {
  const failure = { cause: 'error', message: 'no', code: 'http_status' } as const;
  const seen = { input: { ctx: { card: '4242' } }, request: { url: 'https://pay.test' } };
  expect(failedItem({ ...failure, details: { ...seen, status: 402 } })).toEqual({
    success: false,
    error: { ...failure, details: { status: 402 } },
  });
  expect(failedItem({ ...failure, details: seen })).toEqual({ success: false, error: failure });
});

describe('stored results', () => {
  test('keep their index and value, and for an offloaded value its reference and size', () => {
    expect(serializeResults([result(3, { count: 7 }), result(1, null), apart(2, 'item:out-2')])).toEqual([
      { index: 3, payload: { value: { count: 7 } } },
      { index: 1, payload: { value: null } },
      { index: 2, payload: { ref: 'item:out-2', bytes: 9 } },
    ]);
  });

  test('are merged with pending results in the order of the items', () => {
    const pages: readonly (readonly IterationResult[])[] = [
      [result(3, 'three'), result(0, null)],
      [apart(1, 'blob:one'), apart(5, 'item:five')],
    ];
    const storedPages = pages.map((page): Payload => ({ value: serializeResults(page) }));
    const loaded = new Map<PayloadRef, JsonValue>([
      ['blob:one', 'one'],
      ['item:five', 'five'],
    ]);
    expect(allResults(loopOf(6, storedPages, [result(2, 'two')]), loaded)).toEqual([null, 'one', 'two', 'three', null, 'five']);
  });

  test('are requested together: first all pages, then all offloaded values', () => {
    const loop = loopOf(
      3,
      [
        { ref: 'item:page-1', bytes: 9 },
        { ref: 'item:page-2', bytes: 9 },
      ],
      [apart(2, 'item:out-2')],
    );
    const needed = (loaded: ReadonlyMap<PayloadRef, JsonValue>): readonly PayloadRef[] => {
      try {
        allResults(loop, loaded);
      } catch (error) {
        if (error instanceof PayloadsNeeded) return error.refs;
        throw error;
      }
      return [];
    };
    expect(needed(nothing)).toEqual(['item:page-1', 'item:page-2']);
    const loaded = new Map<PayloadRef, JsonValue>([
      ['item:page-1', serializeResults([apart(1, 'item:out-1')])],
      ['item:page-2', serializeResults([result(0, 'none')])],
    ]);
    expect(needed(loaded)).toEqual(['item:out-1', 'item:out-2']);
  });
});

describe('an impossible page', () => {
  const page = (value: JsonValue) => () => allResults(loopOf(1, [{ value }], []), nothing);

  test.each<[string, JsonValue, string]>([
    ['is not an array', { 0: 1 }, 'is not an array'],
    ['contains an entry that is not an object', [7], 'is not an object'],
    ['has a result without its index', [{ payload: { value: 1 } }], 'has no index or payload'],
    ['has a result without a payload', [{ index: 0 }], 'has no index or payload'],
    ['has a result without its value', [{ index: 0, payload: {} }], 'has no value'],
    ['has a reference without its size', [{ index: 0, payload: { ref: 'item:out' } }], 'has no value'],
    ['has a size without a reference', [{ index: 0, payload: { bytes: 9 } }], 'has no value'],
    ['has a reference that is not text', [{ index: 0, payload: { ref: 7, bytes: 9 } }], 'has no value'],
    ['has a reference to an unknown store', [{ index: 0, payload: { ref: 'my item:out', bytes: 9 } }], 'has no value'],
    ['has an empty reference', [{ index: 0, payload: { ref: 'blob:', bytes: 9 } }], 'has no value'],
  ])('%s', (_how, value, message) => {
    expect(page(value)).toThrow(message);
  });
});
