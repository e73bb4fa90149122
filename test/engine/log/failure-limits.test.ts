/** A failure always fits its commit, with as much of its text as there is space for. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { Failure } from '../../../lib/engine/log/events.ts';
import { failureLimits, reportedFailure, reportedOutcome } from '../../../lib/engine/log/event-limits.ts';

const failure = (more: Partial<Failure> = {}): Failure => ({ cause: 'error', message: 'it broke', ...more });
const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const details = (value: JsonObject): JsonObject | undefined => reportedFailure(failure({ details: value })).details;

const anything = fc.dictionary(fc.string({ maxLength: 3_000, unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 40 });

test('a small failure stays unchanged', () => {
  const small = failure({ code: 'some_code', status: 'blocked', details: { timeoutMs: 5, errors: [{ field: 'a' }] } });
  expect(reportedFailure(small)).toEqual(small);
});

test('text is truncated, never inside a character', () => {
  const reported = reportedFailure(failure({ message: `${'x'.repeat(1_999)}😀`, code: 'c'.repeat(200) }));
  expect(reported.message).toBe(`${'x'.repeat(1_999)}\ufffd`);
  expect(reported.code).toHaveLength(128);
});

describe('details', () => {
  test('small entries stay whole beside a large one, in their order', () => {
    const reported = details({ body: 'x'.repeat(9_000), status: 502 });
    expect(Object.keys(reported ?? {})).toEqual(['body', 'status']);
    expect(reported).toMatchObject({ status: 502, body: expect.stringMatching(/^x{400,}$/) });
  });

  test('an array loses its end', () => {
    const errors = Array.from({ length: 500 }, (_, index) => ({ field: `field ${index}`, reason: 'type_mismatch' }));
    const reported = details({ phase: 'output', errors })?.['errors'];
    expect(errors.slice(0, 20)).toEqual(Array.isArray(reported) ? reported.slice(0, 20) : undefined);
  });

  test('an entry that does not fit is omitted and named', () => {
    expect(details({ small: 1, ['k'.repeat(9_000)]: 2, deep: { of: 'x'.repeat(9_000) } })).toEqual({
      small: 1,
      omitted: ['k'.repeat(40), 'deep'],
    });
  });

  test('entries are whole up to the limit and truncated beyond it', () => {
    const ofSize = (size: number): JsonObject => ({ text: 'x'.repeat(size - sizeOf({ text: '' })) });
    expect(details(ofSize(4_096))).toEqual(ofSize(4_096));
    expect(sizeOf(details(ofSize(4_097)))).toBeLessThan(1_000);
  });

  test('the smallest entries have priority, in any order', () => {
    const large = { of: 'x'.repeat(2_900) };
    const small = { of: 'y'.repeat(300) };
    const longer = { of: 'z'.repeat(2_000) };
    expect(details({ large, small, longer })).toEqual({ small, longer, omitted: ['large'] });
  });

  test('four omitted entries are named', () => {
    const deep = { of: 'x'.repeat(5_000) };
    expect(details({ a: deep, b: deep, c: deep, d: deep, e: deep, small: 1 })).toEqual({
      small: 1,
      omitted: ['a', 'b', 'c', 'd'],
    });
  });

  test('a text or an array of about the whole limit is at most shortened', () => {
    const deep = { of: 'x'.repeat(5_000) };
    for (let size = 3_080; size < 3_120; size += 1) {
      // Each number takes two units with its comma: one of two digits makes their sum odd.
      for (const list of [Array.from({ length: size }, () => 1), [10, ...Array.from({ length: size }, () => 1)]]) {
        const reported = details({ list, deep })?.['list'];
        expect(sizeOf({ list: reported })).toBeGreaterThan(3_100);
        expect(reported).toEqual(list.slice(0, Array.isArray(reported) ? reported.length : 0));
      }
      const text = 'y'.repeat(size - 2);
      expect(details({ text, deep })).toMatchObject({ text: expect.stringMatching(/^y{500,}$/), omitted: ['deep'] });
    }
  });

  test('any details stay below the limit, and truncating them again changes nothing', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const reported = details(JSON.parse(JSON.stringify(value))) ?? {};
        expect(sizeOf(reported)).toBeLessThanOrEqual(failureLimits.details);
        expect(details(reported)).toEqual(reported);
      }),
    );
  });
});

test('the errors and the decision of a gate have the same limits', () => {
  const long = 'x'.repeat(300_000);
  const contract = { kind: 'contract', phase: 'output', errors: [{ field: 'a' }, { field: long }, { field: 'b' }] } as const;
  const moderation = { kind: 'moderation', phase: 'input', decision: { policy: 'words', metadata: { long } } } as const;
  for (const gate of [contract, moderation])
    expect(sizeOf(reportedOutcome({ kind: 'failed', failure: failure({ message: long }), gate }))).toBeLessThan(8_000);
  expect(reportedOutcome({ kind: 'failed', failure: failure(), gate: contract })).toMatchObject({
    gate: { errors: [{ field: 'a' }, { field: 'b' }] },
  });
});
