import { expect, test } from 'vitest';
import { readTraceparent, traceFields, traceparent, withSpan } from '../../lib/engine/trace.ts';
import { correlationId } from '../../lib/engine/ids.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

test.each([
  ['in the usual form', `00-${trace}-${span}-01`, `00-${trace}-${span}-01`],
  ['not sampled', `00-${trace}-${span}-00`, `00-${trace}-${span}-00`],
  ['of a later version, parsed as far as known', `cc-${trace}-${span}-01-what-will-be`, `00-${trace}-${span}-01`],
  ['surrounded by spaces', ` 00-${trace}-${span}-01 `, `00-${trace}-${span}-01`],
])('a traceparent %s is accepted', (_name, header, read) => {
  expect(readTraceparent(header)).toBe(read);
});

test.each([
  ['nothing', ''],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${span}-01`],
  ['a span of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['the forbidden version', `ff-${trace}-${span}-01`],
  ['capitals', `00-${trace.toUpperCase()}-${span}-01`],
  ['too few characters', `00-${trace.slice(1)}-${span}-01`],
  ['more fields than version 00 has', `00-${trace}-${span}-01-more`],
  ['a later version without a separator', `cc-${trace}-${span}-01what`],
  ['two traceparents', `00-${trace}-${span}-01, 00-${trace}-${span}-01`],
])('a traceparent with %s is rejected', (_name, header) => {
  expect(readTraceparent(header)).toBeUndefined();
});

test('another span stays in its trace', () => {
  expect(withSpan(traceparent(`00-${trace}-${span}-01`), '00f067aa0ba902b7')).toBe(`00-${trace}-00f067aa0ba902b7-01`);
  expect(traceFields({ correlationId: correlationId('a'), traceparent: traceparent(`00-${trace}-${span}-01`) })).toEqual({
    correlationId: 'a',
    traceId: trace,
  });
});

test.each([' a', 'a ', '', 'a\u0007', 'é', 'x'.repeat(129)])('%j is not a correlation id', (text) => {
  expect(() => correlationId(text)).toThrow();
});
