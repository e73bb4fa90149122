import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runEvent } from '../../lib/codec/events.ts';
import { pack, unpack } from '../../lib/codec/packed.ts';
import { Unreadable, read, readJson } from '../../lib/codec/unreadable.ts';
import { allEvents, eventOfEachType } from '../contract/samples.ts';
import { arbitraryEvent } from './arbitrary-events.ts';

const throughText = (event: unknown) => readJson('an event', runEvent, unpack('an event', pack(event)));

test('any event is read back from its text as it was', () => {
  fc.assert(
    fc.property(arbitraryEvent, (event) => {
      expect(throughText(event)).toEqual(event);
    }),
    { numRuns: 2_000 },
  );
});

test('an event without one of its members, or with one too many, cannot be read', () => {
  for (const event of allEvents) {
    expect(() => read('an event', runEvent, { ...event, surprise: 1 })).toThrow(Unreadable);
    expect(() => read('an event', runEvent, { ...event, type: 'NODE_DREAMT' })).toThrow(Unreadable);
  }
  const { output: _output, ...halved } = eventOfEachType.NODE_COMPLETED;
  expect(() => read('an event', runEvent, halved)).toThrow(/output/);
});

test.for([
  ['a node id that holds a key separator', { nodeId: 'a#b' }],
  ['an attempt before the first', { attempt: 0 }],
  ['an iteration that is none', { iteration: 'each' }],
  ['a time that is text', { startedAt: '2026-05-01' }],
  ['a payload that names no place', { output: { ref: 'somewhere', bytes: 1 } }],
  ['a payload that is two things', { output: { value: 1, ref: 'item:a', bytes: 1 } }],
])('%s cannot be read', ([, facts]) => {
  const event = Object.assign({}, eventOfEachType.NODE_COMPLETED, facts);
  expect(() => read('an event', runEvent, event)).toThrow(Unreadable);
});

test('what is small is stored as text, and what is not is compressed', () => {
  expect(pack('x'.repeat(598))).toHaveProperty('text');
  expect(pack('x'.repeat(599))).toHaveProperty('gzip');
  expect(pack('ü'.repeat(300))).toHaveProperty('gzip');
  const packed = pack('x'.repeat(100_000));
  expect('gzip' in packed && packed.gzip.byteLength).toBeLessThan(1_000);
});

test('damaged bytes and damaged text are said to be unreadable', () => {
  expect(() => unpack('a commit', { gzip: new Uint8Array([1, 2, 3]) })).toThrow(
    'a commit cannot be read: its data is not valid gzip',
  );
  expect(() => readJson('a commit', runEvent, '{"type":')).toThrow('a commit cannot be read: it is not valid JSON');
});
