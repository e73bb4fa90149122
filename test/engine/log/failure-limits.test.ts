/** Whatever a failure says, it is small enough to be a part of its commit, and as much of it is told as there is room for. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { Failure } from '../../../lib/engine/log/events.ts';
import { failureLimits, reportedFailure, reportedOutcome } from '../../../lib/engine/log/failure-limits.ts';

const failure = (more: Partial<Failure> = {}): Failure => ({ cause: 'error', message: 'it broke', ...more });
const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const details = (given: JsonObject): JsonObject | undefined => reportedFailure(failure({ details: given })).details;

const anything = fc.dictionary(fc.string({ maxLength: 3_000, unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 40 });

test('what is small enough is told as it is', () => {
  const small = failure({ code: 'some_code', status: 'blocked', details: { timeoutMs: 5, errors: [{ field: 'a' }] } });
  expect(reportedFailure(small)).toEqual(small);
});

test('words lose their end, and never half a character of it', () => {
  const told = reportedFailure(failure({ message: `${'x'.repeat(1_999)}😀`, code: 'c'.repeat(200) }));
  expect(told.message).toBe(`${'x'.repeat(1_999)}\ufffd`);
  expect(told.code).toHaveLength(128);
});

describe('details', () => {
  test('the small ones stay whole beside a large one, in their order', () => {
    const told = details({ body: 'x'.repeat(9_000), status: 502 });
    expect(Object.keys(told ?? {})).toEqual(['body', 'status']);
    expect(told).toMatchObject({ status: 502, body: expect.stringMatching(/^x{400,}$/) });
  });

  test('a list loses its end', () => {
    const errors = Array.from({ length: 500 }, (_, index) => ({ field: `field ${index}`, reason: 'type_mismatch' }));
    const told = details({ phase: 'output', errors })?.['errors'];
    expect(errors.slice(0, 20)).toEqual(Array.isArray(told) ? told.slice(0, 20) : undefined);
  });

  test('what does not fit at all is left out, and named', () => {
    expect(details({ small: 1, ['k'.repeat(9_000)]: 2, deep: { of: 'x'.repeat(9_000) } })).toEqual({
      small: 1,
      omitted: ['k'.repeat(40), 'deep'],
    });
  });

  test('are whole up to the limit, and no further', () => {
    const ofSize = (size: number): JsonObject => ({ text: 'x'.repeat(size - sizeOf({ text: '' })) });
    expect(details(ofSize(4_096))).toEqual(ofSize(4_096));
    expect(sizeOf(details(ofSize(4_097)))).toBeLessThan(1_000);
  });

  test('the smallest have the room first, whichever stands first', () => {
    const large = { of: 'x'.repeat(2_900) };
    const small = { of: 'y'.repeat(300) };
    const longer = { of: 'z'.repeat(2_000) };
    expect(details({ large, small, longer })).toEqual({ small, longer, omitted: ['large'] });
  });

  test('of those that are left out four are named', () => {
    const deep = { of: 'x'.repeat(5_000) };
    expect(details({ a: deep, b: deep, c: deep, d: deep, e: deep, small: 1 })).toEqual({
      small: 1,
      omitted: ['a', 'b', 'c', 'd'],
    });
  });

  test('a text or a list that takes about all the room that there is, is shortened at most', () => {
    const deep = { of: 'x'.repeat(5_000) };
    for (let size = 3_080; size < 3_120; size += 1) {
      // Each of the numbers takes two units with its comma: one of two digits makes their sum odd.
      for (const list of [Array.from({ length: size }, () => 1), [10, ...Array.from({ length: size }, () => 1)]]) {
        const told = details({ list, deep })?.['list'];
        expect(sizeOf({ list: told })).toBeGreaterThan(3_100);
        expect(told).toEqual(list.slice(0, Array.isArray(told) ? told.length : 0));
      }
      const text = 'y'.repeat(size - 2);
      expect(details({ text, deep })).toMatchObject({ text: expect.stringMatching(/^y{500,}$/), omitted: ['deep'] });
    }
  });

  test('whatever they are, they stay below the limit, and are told the same again', () => {
    fc.assert(
      fc.property(anything, (given) => {
        const told = details(JSON.parse(JSON.stringify(given))) ?? {};
        expect(sizeOf(told)).toBeLessThanOrEqual(failureLimits.details);
        expect(details(told)).toEqual(told);
      }),
    );
  });
});

test('what a gate says is held to the same', () => {
  const long = 'x'.repeat(300_000);
  const contract = { kind: 'contract', phase: 'output', errors: [{ field: 'a' }, { field: long }, { field: 'b' }] } as const;
  const moderation = { kind: 'moderation', phase: 'input', decision: { policy: 'words', metadata: { long } } } as const;
  for (const gate of [contract, moderation])
    expect(sizeOf(reportedOutcome({ kind: 'failed', failure: failure({ message: long }), gate }))).toBeLessThan(8_000);
  expect(reportedOutcome({ kind: 'failed', failure: failure(), gate: contract })).toMatchObject({
    gate: { errors: [{ field: 'a' }, { field: 'b' }] },
  });
});
