/** Reads of streams: from any index, also from the end, and in pages that an answer can hold. */
import { expect, test } from 'vitest';
import { closeStream, readChunks, readFrom, writeStream } from '../../lib/service/kinds/devkit/streams.ts';
import { answered, createDevKitEnv } from './devkit-test-env.ts';
import { scope } from './test-env.ts';

const chunk = (index: number): { readonly $bytes: string } => ({ $bytes: Buffer.from([index]).toString('base64') });

/** Five chunks in two flushes. */
const written = async () => {
  const { env, start } = await createDevKitEnv();
  const { runId } = await start();
  const stream = { scope, runId, name: 'strm_1' };
  for (const indexes of [
    [0, 1, 2],
    [3, 4],
  ])
    answered(await writeStream(env.deps, stream, indexes.map(chunk)));
  return { deps: env.deps, stream };
};

test.each([
  [undefined, [0, 1, 2, 3, 4]],
  [1, [1, 2, 3, 4]],
  [4, [4]],
  [5, []],
  [-1, [4]],
  [-3, [2, 3, 4]],
  [-9, [0, 1, 2, 3, 4]],
])('a read from index %s has the chunks %j', async (startIndex, indexes) => {
  const { deps, stream } = await written();
  for (const isClosed of [false, true]) {
    if (isClosed) answered(await closeStream(deps, stream));
    const page = answered(await readFrom(deps, stream, { startIndex }));
    expect(page).toEqual({
      data: indexes.map((index) => ({ index, data: chunk(index) })),
      cursor: '5',
      hasMore: false,
      done: isClosed,
    });
  }
});

test('a read with a limit names the index at which the next one continues', async () => {
  const { deps, stream } = await written();
  const page = answered(await readFrom(deps, stream, { startIndex: -4, limit: 3 }));
  expect([page.data.map(({ index }) => index), page.cursor, page.hasMore]).toEqual([[1, 2, 3], '4', true]);
  expect(answered(await readChunks(deps, stream, { cursor: '4' })).data.map(({ index }) => index)).toEqual([4]);
});

test('a stream without chunks is read from any index', async () => {
  const { env, start } = await createDevKitEnv();
  const { runId } = await start();
  const page = await readFrom(env.deps, { scope, runId, name: 'strm_1' }, { startIndex: -2 });
  expect(answered(page)).toEqual({ data: [], cursor: '0', hasMore: false, done: false });
});

test('a write without chunks takes no index, and later writes continue', async () => {
  const { deps, stream } = await written();
  answered(await writeStream(deps, stream, []));
  answered(await writeStream(deps, stream, [chunk(5)]));
  answered(await closeStream(deps, stream));
  const page = answered(await readFrom(deps, stream, { startIndex: 4 }));
  expect([page.data.map(({ index }) => index), page.done]).toEqual([[4, 5], true]);
});

test('chunks of one flush are in several pages, if an answer cannot hold them together', async () => {
  const { env, start } = await createDevKitEnv();
  const { runId } = await start();
  const stream = { scope, runId, name: 'strm_1' };
  const large = { $bytes: Buffer.alloc(1_500_000, 1).toString('base64') };
  answered(await writeStream(env.deps, stream, [large, large, large]));
  const sizes: number[] = [];
  for (let cursor = '0', isOver = false; !isOver;) {
    const page = answered(await readChunks(env.deps, stream, { cursor, limit: 10 }));
    sizes.push(page.data.length);
    expect(JSON.stringify(page).length).toBeLessThan(6_000_000);
    isOver = !page.hasMore;
    cursor = page.cursor ?? '';
  }
  expect(sizes).toEqual([2, 1]);
});
