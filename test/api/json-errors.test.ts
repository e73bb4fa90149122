/** Where a text stops being JSON. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeJsonError } from '../../lib/api/json-errors.ts';

test.each([
  ['{\n  "name": "order",\n  "nodes": [\n    { "id": "a" }\n    { "id": "b" }\n  ]\n}', 'line 5, column 5: a comma is missing'],
  ["{ 'name': 1 }", 'line 1, column 3: '],
  ['{ "a": 1, }', 'line 1, column 11: '],
  ['{ "a" 1 }', 'line 1, column 7: a colon is missing'],
  ['{ "a": tru }', 'line 1, column 8: this is not a JSON value'],
  ['{ "a": [1, 2 }', 'line 1, column 14: '],
  ['{ "a": 1', 'line 1, column 9: a closing brace is missing'],
  ['[1] x', 'line 1, column 5: '],
  ['// no\n{}', 'line 1, column 1: JSON has no comments'],
  ['', 'line 1, column 1: a value is missing'],
  ['{ "a": "x\ny" }', 'line 1, column 8: the string does not end on its line'],
  ['{ "a": 01 }', 'line 1, column '],
])('%j', (text, expected) => {
  expect(() => JSON.parse(text)).toThrow();
  expect(describeJsonError(text).startsWith(expected), describeJsonError(text)).toBe(true);
});

test.each([
  ['[1.]', 'line 1, column 2: this is not a number of JSON'],
  ['[-]', 'line 1, column 2: this is not a number of JSON'],
  ['["a\tb"]', 'line 1, column 4: the string has a control character; escape it'],
  ['["\\x"]', 'line 1, column 3: the string has an invalid escape'],
  ['["\\u00g0"]', 'line 1, column 3: the escape must be \\u and four hexadecimal digits'],
  ['[1, 2', 'line 1, column 6: a closing bracket is missing'],
  ['[1, /* two */ 2]', 'line 1, column 5: JSON has no comments'],
  ['[1, 2]]', 'line 1, column 7: the document ended before this'],
])('%j has the error %j', (text, expected) => {
  expect(describeJsonError(text)).toBe(expected);
});

test('exactly the texts that JSON.parse refuses have a position', () => {
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    ' ',
    '\n',
    'true',
    'nul',
    '0',
    '-1',
    '1.5e3',
    '01',
    '"a"',
    '"\\n"',
    '"\\u12"',
    '//',
  );
  const nearJson = fc.array(token, { maxLength: 8 }).map((tokens) => tokens.join(''));
  fc.assert(
    fc.property(fc.oneof(fc.json(), nearJson, fc.string()), (text) => {
      const expected = parses(text) ? 'the text is not JSON' : expect.stringMatching(/^line /);
      expect(describeJsonError(text)).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test('every text that is not JSON is described, also deeply nested ones', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => text.slice(0, -1)),
      ),
      (text) => {
        expect(describeJsonError(text)).toMatch(/^(line \d+, column \d+: .+|the text is not JSON)$/);
      },
    ),
  );
  expect(describeJsonError('['.repeat(2_000_000))).toBe('the text is not JSON');
  expect(describeJsonError(','.repeat(5_000_000))).toMatch(/^line 1, column 1: /);
});
