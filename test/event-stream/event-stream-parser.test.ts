/** Server-sent events: every field and line end of the standard, any chunk borders, and hostile servers. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventStreamParser, EventTooLong, type StreamPart } from '../../lib/event-stream/event-stream-parser.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The parts of a stream that arrives in chunks of this many bytes. */
function parse(stream: string | Uint8Array, chunkBytes = 1_000_000, maxLength = 1_000): readonly StreamPart[] {
  const parser = new EventStreamParser(maxLength);
  const bytes = typeof stream === 'string' ? bytesOf(stream) : stream;
  const parts: StreamPart[] = [];
  for (let from = 0; from < bytes.length; from += chunkBytes) parts.push(...parser.read(bytes.subarray(from, from + chunkBytes)));
  return parts;
}
const dataOf = (parts: readonly StreamPart[]): readonly string[] =>
  parts.flatMap((part) => (part.kind === 'event' ? [part.data] : []));
const event = (data: string, fields: { id?: string; event?: string } = {}): StreamPart => ({
  kind: 'event',
  id: undefined,
  event: undefined,
  data,
  ...fields,
});

describe('the fields', () => {
  test.each<[string, string, readonly StreamPart[]]>([
    [
      'an event has an id, a name and data',
      'id: 7\nevent: node.started\ndata: {"a":1}\n\n',
      [event('{"a":1}', { id: '7', event: 'node.started' })],
    ],
    ['several data lines are joined with line feeds', 'data: one\ndata:\ndata: three\n\n', [event('one\n\nthree')]],
    ['only the first space after the colon is removed', 'data:  two spaces\ndata:none\n\n', [event(' two spaces\nnone')]],
    ['a value contains colons', 'data: a:b: c\n\n', [event('a:b: c')]],
    ['a field without a colon has an empty value', 'data\ndata\n\n', [event('\n')]],
    ['comments are ignored', ': heartbeat\n:\ndata: x\n: in between\n\n', [event('x')]],
    ['unknown fields are ignored, and field names are case-sensitive', 'foo: 1\nDATA: y\n data: z\ndata: x\n\n', [event('x')]],
    ['a block without data is no event', 'id: 1\nevent: x\n\n: comment\n\n\n\ndata: y\n\n', [event('y')]],
    [
      'the last of two ids or names counts',
      'id: 1\nid: 2\nevent: a\nevent: b\ndata: x\n\n',
      [event('x', { id: '2', event: 'b' })],
    ],
    ['an empty name is no name, and an empty id is one', 'id:\nevent:\ndata: x\n\n', [event('x', { id: '' })]],
    ['an id with a null character is ignored', 'id: 1\0\ndata: x\n\n', [event('x')]],
    [
      'an event does not inherit the id and the name of an earlier one',
      'id: 1\nevent: a\ndata: x\n\ndata: y\n\n',
      [event('x', { id: '1', event: 'a' }), event('y')],
    ],
    ['an empty data line is an event', 'data:\n\n', [event('')]],
    ['a byte order mark at the beginning is removed', '\u{feff}data: x\n\n', [event('x')]],
    ['a byte order mark elsewhere is text', 'data: \u{feff}x\n\n', [event('\u{feff}x')]],
    ['an incomplete event is not returned', 'data: x\n', []],
  ])('%s', (_name, stream, expected) => {
    expect(parse(stream)).toEqual(expected);
  });

  test.each<[string, number | undefined]>([
    ['2500', 2_500],
    ['0', 0],
    ['999999', 999_999],
    ['1000000', undefined],
    ['99999999999999999999', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['', undefined],
  ])('retry: %s', (value, delayMs) => {
    const retry: readonly StreamPart[] = delayMs === undefined ? [] : [{ kind: 'retry', delayMs }];
    expect(parse(`retry: ${value}\ndata: x\n\n`)).toEqual([...retry, event('x')]);
  });
});

describe('line ends', () => {
  test.each(['\n', '\r\n', '\r'])('%j ends a line', (lineEnd) => {
    const stream = ['retry: 5', 'id: 1', 'data: one', 'data: two', '', ': comment', 'data: three', '', ''].join(lineEnd);
    for (const chunkBytes of [1, 2, 3, 5, 1_000])
      expect(parse(stream, chunkBytes)).toEqual([{ kind: 'retry', delayMs: 5 }, event('one\ntwo', { id: '1' }), event('three')]);
  });

  test('an event that ends with a carriage return is returned with its chunk', () => {
    const parser = new EventStreamParser(100);
    expect(parser.read(bytesOf('data: x\r\r'))).toEqual([event('x')]);
    expect(parser.read(bytesOf('\ndata: y\r'))).toEqual([]);
    expect(parser.read(bytesOf('\n\r'))).toEqual([event('y')]);
  });

  test('line separators of Unicode are text', () => {
    expect(dataOf(parse('data: a\u2028b\u0085c\vd\n\n'))).toEqual(['a\u2028b\u0085c\vd']);
  });
});

describe('chunks', () => {
  const line = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
    fc.constantFrom('', 'id: é😀', 'event: node.started', 'retry: 12', ': comment', 'data', 'foo'),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
    .map((lines) => lines.flat().join(''));

  test('the borders of chunks have no effect, also inside characters and line ends', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 0, max: 400 })), (text, borders) => {
        const bytes = bytesOf(text);
        const parser = new EventStreamParser(1_000);
        const cuts = [
          0,
          ...borders.filter((border) => border < bytes.length).toSorted((one, other) => one - other),
          bytes.length,
        ];
        const parts = cuts.flatMap((cut, index) => [...parser.read(bytes.subarray(cut, cuts[index + 1] ?? cut))]);
        expect(parts).toEqual(parse(text));
      }),
    );
  });

  test.each([1, 2, 3, 7])('of %i bytes', (chunkBytes) => {
    expect(dataOf(parse('data: é😀€\r\n\r\ndata: {"text":"\\r\\n"}\n\n', chunkBytes))).toEqual(['é😀€', '{"text":"\\r\\n"}']);
  });

  test('malformed bytes become replacement characters', () => {
    expect(dataOf(parse(new Uint8Array([...bytesOf('data: a'), 0xff, 0xc3, ...bytesOf('b\n\n')]), 1))).toEqual([
      'a\u{fffd}\u{fffd}b',
    ]);
  });
});

describe('the end of the stream', () => {
  test.each([
    ['data: x', ['x']],
    ['data: x\n', ['x']],
    ['data: x\r', ['x']],
    ['data: x\r\n', ['x']],
    ['data: x\ndata: y', ['x\ny']],
    ['data: x\n\n', []],
    ['id: 1', []],
    ['', []],
  ])('%j without a last blank line', (text, expected) => {
    const parser = new EventStreamParser(100);
    parser.read(bytesOf(text));
    expect(dataOf(parser.end())).toEqual(expected);
  });

  test('inside a character', () => {
    const parser = new EventStreamParser(100);
    parser.read(bytesOf('data: é').subarray(0, -1));
    expect(dataOf(parser.end())).toEqual(['\u{fffd}']);
  });
});

describe('a hostile server', () => {
  const tooLong = (stream: string, chunkBytes?: number) => (): unknown => parse(stream, chunkBytes, 1_000);

  test.each([
    ['a line without an end', 'x'.repeat(1_001)],
    ['a comment without an end', `:${'x'.repeat(1_000)}`],
    ['data without an end', 'data: 123456789\n'.repeat(100)],
    ['empty data lines without an end', 'data\n'.repeat(1_001)],
    ['one event in one chunk', `data: ${'x'.repeat(1_000)}\n\n`],
    ['a long id', `id: ${'x'.repeat(1_000)}\n`],
  ])('%s is refused', (_name, stream) => {
    expect(tooLong(stream)).toThrow(EventTooLong);
    expect(tooLong(stream, 1)).toThrow('an event of the stream is longer than 1000 characters');
  });

  test('any number of shorter events is accepted', () => {
    expect(dataOf(parse('data: 123456789\n\n: comment\n'.repeat(1_000), 10))).toHaveLength(1_000);
    expect(dataOf(parse(`data: ${'x'.repeat(990)}\n\n`))).toEqual(['x'.repeat(990)]);
  });

  test('a long line in chunks of one byte takes linear time', () => {
    const length = 300_000;
    const startedAt = performance.now();
    expect(dataOf(parse(`data: ${'x'.repeat(length)}\n\n`, 1, length + 10))).toEqual(['x'.repeat(length)]);
    // Searching the whole line again with each chunk takes minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
