import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runEvent } from '../../lib/codec/events.ts';
import { pack, unpack } from '../../lib/codec/packed.ts';
import { storedJsonDictionary } from '../../lib/codec/packed-dictionary.ts';
import { Unreadable, read, readJson } from '../../lib/codec/unreadable.ts';
import { allEvents, eventOfEachType } from '../contract/samples.ts';
import { arbitraryEvent } from './arbitrary-events.ts';

const throughText = (event: unknown) => readJson('an event', runEvent, unpack('an event', pack(event)));

test('every event survives a round trip through its text', () => {
  fc.assert(
    fc.property(arbitraryEvent, (event) => {
      expect(throughText(event)).toEqual(event);
    }),
    { numRuns: 2_000 },
  );
});

test('an event with a missing or an additional member is unreadable', () => {
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
  ['an invalid iteration key', { iteration: 'each' }],
  ['a time that is a string', { startedAt: '2026-05-01' }],
  ['a payload with an invalid reference', { output: { ref: 'somewhere', bytes: 1 } }],
  ['a payload with a value and a reference', { output: { value: 1, ref: 'item:a', bytes: 1 } }],
])('%s is unreadable', ([, facts]) => {
  const event = Object.assign({}, eventOfEachType.NODE_COMPLETED, facts);
  expect(() => read('an event', runEvent, event)).toThrow(Unreadable);
});

test('small values are stored as text, and larger ones are compressed', () => {
  expect(pack('x'.repeat(598))).toHaveProperty('text');
  expect(pack('x'.repeat(599))).toHaveProperty('zlib');
  expect(pack('ü'.repeat(300))).toHaveProperty('zlib');
  const packed = pack('x'.repeat(100_000));
  expect('zlib' in packed && packed.zlib.byteLength).toBeLessThan(1_000);
});

test('the dictionary of stored JSON is the one with which items were written', () => {
  const digest = createHash('sha256').update(storedJsonDictionary).digest('hex');
  expect(digest).toBe('cb900b94447db0f8ff30a6f24bf961ee9b7c3ddadd5ab7fe0656cb3c56a0162a');
  const events = Array.from({ length: 9 }, () => eventOfEachType.NODE_COMPLETED);
  const packed = pack(events);
  if (!('zlib' in packed)) throw new Error('it is small');
  expect(JSON.parse(unpack('a commit', packed))).toEqual(events);
  expect(packed.zlib.byteLength).toBeLessThan(deflateSync(JSON.stringify(events)).byteLength);
});

test('damaged bytes and damaged text are unreadable', () => {
  expect(() => unpack('a commit', { zlib: new Uint8Array([1, 2, 3]) })).toThrow(
    'a commit cannot be read: its compressed data is not valid',
  );
  expect(() => readJson('a commit', runEvent, '{"type":')).toThrow('a commit cannot be read: it is not valid JSON');
});
