/** Streams: the order of the arguments in both shapes, and a live reader over pages. */
import { expect, test } from 'vitest';
import type { CallResult } from '../../lib/world/calls.ts';
import type { TaggedValue } from '../../lib/world/tagged-json.ts';
import type { World } from '../../lib/world/types.ts';
import { FakeTransport, answered, worldOver } from './fake-transport.ts';

const stream = { runId: 'wrun_1', name: 'strm_1' };

test.each<[string, (world: World) => Promise<unknown>, string, object]>([
  ['writeToStream', (w) => w.writeToStream('strm_1', 'wrun_1', 'text'), 'streams.write', { ...stream, chunks: ['text'] }],
  [
    'writeToStreamMulti',
    (w) => w.writeToStreamMulti('strm_1', 'wrun_1', ['a', 'b']),
    'streams.write',
    { ...stream, chunks: ['a', 'b'] },
  ],
  ['closeStream', (w) => w.closeStream('strm_1', 'wrun_1'), 'streams.close', stream],
  ['listStreamsByRunId', (w) => w.listStreamsByRunId('wrun_1'), 'streams.list', { runId: 'wrun_1' }],
  ['getStreamChunks', (w) => w.getStreamChunks('strm_1', 'wrun_1', { limit: 3 }), 'streams.chunks', { ...stream, limit: 3 }],
  ['getStreamInfo', (w) => w.getStreamInfo('strm_1', 'wrun_1'), 'streams.info', stream],
  ['streams.write', (w) => w.streams.write('wrun_1', 'strm_1', 'text'), 'streams.write', { ...stream, chunks: ['text'] }],
  [
    'streams.writeMulti',
    (w) => w.streams.writeMulti('wrun_1', 'strm_1', ['a', 'b']),
    'streams.write',
    { ...stream, chunks: ['a', 'b'] },
  ],
  ['streams.close', (w) => w.streams.close('wrun_1', 'strm_1'), 'streams.close', stream],
  ['streams.list', (w) => w.streams.list('wrun_1'), 'streams.list', { runId: 'wrun_1' }],
  [
    'streams.getChunks',
    (w) => w.streams.getChunks('wrun_1', 'strm_1', { cursor: 'c' }),
    'streams.chunks',
    { ...stream, cursor: 'c' },
  ],
  ['streams.getInfo', (w) => w.streams.getInfo('wrun_1', 'strm_1'), 'streams.info', stream],
])('%s names the run and the stream', async (_name, use, method, body) => {
  const answers: Readonly<Record<string, TaggedValue>> = {
    'streams.list': ['strm_1'],
    'streams.chunks': { data: [], cursor: null, hasMore: false, done: false },
    'streams.info': { tailIndex: -1, done: false },
  };
  const transport = new FakeTransport((call) => answered(answers[call.method] ?? null));
  await use(worldOver(transport));
  expect(transport.calls).toEqual([{ method, body }]);
});

test('no chunks are no call', async () => {
  const transport = new FakeTransport();
  await worldOver(transport).streams.writeMulti('wrun_1', 'strm_1', []);
  expect(transport.calls).toEqual([]);
});

const page = (
  indexes: readonly number[],
  { cursor = null, hasMore = false, done = false }: Partial<{ cursor: string | null; hasMore: boolean; done: boolean }> = {},
): TaggedValue => ({
  data: indexes.map((index) => ({ index, data: new Uint8Array([index]) })),
  cursor,
  hasMore,
  done,
});

/** A stream with these pages, one for each read. The last one repeats. */
const streamOf = (pages: readonly TaggedValue[]): FakeTransport => {
  let at = 0;
  return new FakeTransport(({ method }) => {
    if (method === 'streams.info') return answered({ tailIndex: 4, done: false });
    at += 1;
    return answered(pages[Math.min(at, pages.length) - 1] ?? null);
  });
};

const readAll = async (readable: ReadableStream<Uint8Array>): Promise<readonly number[]> => {
  const indexes: number[] = [];
  for await (const chunk of readable) indexes.push(...chunk);
  return indexes;
};

test('a reader replays the stream page by page, waits for new chunks, and ends when the stream is closed', async () => {
  const pages = [
    page([0, 1], { cursor: 'c1', hasMore: true }),
    page([2], { cursor: 'c2' }),
    page([], { cursor: 'c2' }),
    page([], { cursor: 'c2' }),
    page([3], { cursor: 'c3', done: true }),
  ];
  const transport = streamOf(pages);
  const sleeps: number[] = [];
  expect(await readAll(await worldOver(transport, {}, sleeps).streams.get('wrun_1', 'strm_1'))).toEqual([0, 1, 2, 3]);
  expect(transport.calls.map(({ body }) => body['cursor'])).toEqual([undefined, 'c1', 'c2', 'c2', 'c2']);
  expect(sleeps).toEqual([50, 75]);
});

test('pauses between polls grow up to half a second, and begin again after a chunk', async () => {
  const nothing = Array.from({ length: 9 }, () => page([], { cursor: 'c' }));
  const sleeps: number[] = [];
  const transport = streamOf([...nothing, page([0], { cursor: 'c' }), page([], { cursor: 'c' }), page([1], { done: true })]);
  await readAll(await worldOver(transport, {}, sleeps).streams.get('wrun_1', 'strm_1'));
  expect([sleeps[0], Math.max(...sleeps), sleeps.at(-1)]).toEqual([50, 500, 50]);
});

test('pages without a cursor repeat chunks, and a reader skips those that it has', async () => {
  const transport = streamOf([page([0, 1]), page([0, 1, 2]), page([0, 1, 2], { done: true })]);
  expect(await readAll(await worldOver(transport).readFromStream('strm_1'))).toEqual([0, 1, 2]);
  expect(transport.calls[0]?.body).not.toHaveProperty('runId');
});

test.each([
  [2, [2, 3, 4]],
  [-2, [3, 4]],
  [-9, [0, 1, 2, 3, 4]],
])('a reader from index %i gets the chunks %j', async (startIndex, expected) => {
  const transport = streamOf([page([0, 1, 2], { cursor: 'c', hasMore: true }), page([3, 4], { done: true })]);
  expect(await readAll(await worldOver(transport).streams.get('wrun_1', 'strm_1', startIndex))).toEqual(expected);
});

test('a reader begins at its index, and not at the first page', async () => {
  const transport = streamOf([page([7], { cursor: '8', done: true })]);
  expect(await readAll(await worldOver(transport).readFromStream('strm_1', 7))).toEqual([7]);
  expect(transport.calls.map(({ body }) => body['cursor'])).toEqual(['7']);
});

test('text is bytes for its reader', async () => {
  const answer = { data: [{ index: 0, data: 'zwölf' }], cursor: '1', hasMore: false, done: true };
  const chunks: string[] = [];
  for await (const chunk of await worldOver(streamOf([answer])).streams.get('wrun_1', 'strm_1'))
    chunks.push(Buffer.from(chunk).toString());
  expect(chunks).toEqual(['zwölf']);
});

const broken: CallResult = { kind: 'failed', reason: 'transport', message: 'interrupted' };
const busy: CallResult = { kind: 'refused', status: 503, code: 'unavailable', message: 'busy' };

/** A stream whose reads have these results. */
const scripted = (results: readonly CallResult[]): FakeTransport => {
  let at = 0;
  return new FakeTransport(({ method }) => {
    if (method === 'streams.info') return answered({ tailIndex: 4, done: false });
    at += 1;
    return results[Math.min(at, results.length) - 1] ?? broken;
  });
};

test.each([0, -3])('a reader from index %i resumes where it broke, without a chunk twice', async (startIndex) => {
  const first = startIndex === 0 ? [0, 1, 2] : [2];
  const pages = [
    answered(page(first, { cursor: '3', hasMore: true })),
    broken,
    busy,
    answered(page([3, 4], { cursor: '5', done: true })),
  ];
  const transport = scripted(pages);
  const sleeps: number[] = [];
  const readable = await worldOver(transport, {}, sleeps).streams.get('wrun_1', 'strm_1', startIndex);
  expect(await readAll(readable)).toEqual([...first, 3, 4]);
  const read = transport.calls.filter(({ method }) => method === 'streams.chunks');
  expect(read.map(({ body }) => body['cursor'])).toEqual([startIndex === 0 ? undefined : '2', '3', '3', '3']);
  expect(sleeps).toEqual([250, 500]);
});

test('a reader gives up after ten interruptions in a row', async () => {
  const transport = scripted([answered(page([0], { cursor: '1' })), broken]);
  const sleeps: number[] = [];
  await expect(readAll(await worldOver(transport, {}, sleeps).streams.get('wrun_1', 'strm_1'))).rejects.toMatchObject({
    code: 'TRANSPORT',
  });
  expect([transport.calls.length, Math.max(...sleeps)]).toEqual([12, 10_000]);
});

test('a cancelled reader reads no more pages', async () => {
  const transport = streamOf([page([0], { cursor: 'c' }), page([], { cursor: 'c' })]);
  const reader = (await worldOver(transport).streams.get('wrun_1', 'strm_1')).getReader();
  await reader.read();
  await reader.cancel();
  const read = transport.calls.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect(transport.calls.length - read).toBeLessThanOrEqual(1);
});

test('an error of the service ends the reader with that error', async () => {
  const transport = new FakeTransport(() => ({ kind: 'refused', status: 403, code: 'missing_scope', message: 'no' }));
  await expect(readAll(await worldOver(transport).streams.get('wrun_1', 'strm_1'))).rejects.toMatchObject({
    code: 'missing_scope',
  });
});

test('the last page of a stream has no cursor, because the web pages of the SDK read until there is none', async () => {
  const transport = streamOf([
    page([0], { cursor: '1', hasMore: true }),
    page([1], { cursor: '2' }),
    page([0], { cursor: '1', hasMore: true }),
    page([1], { cursor: '2', done: true }),
  ]);
  const world = worldOver(transport);
  const cursors = [
    await world.streams.getChunks('wrun_1', 'strm_1'),
    await world.streams.getChunks('wrun_1', 'strm_1', { cursor: '1' }),
    await world.getStreamChunks('strm_1', 'wrun_1'),
    await world.getStreamChunks('strm_1', 'wrun_1', { cursor: '1' }),
  ].map(({ cursor }) => cursor);
  expect(cursors).toEqual(['1', null, '1', null]);
});
