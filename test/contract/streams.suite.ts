/** Contract of `Streams`: an index has one owner, deltas are read in order, and no acknowledged delta is lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NodeKey, attempt, firstAttempt, nodeKey } from '../../lib/engine/ids.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import type { Delta, Streams } from '../../lib/ports/watching.ts';
import { expiresAt, freshRun, loopNode, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(4);
const node = nodeKey(loopNode);
const delta = (index: number, facts: Partial<Delta> = {}): Delta => ({
  index,
  attempt: firstAttempt,
  owner: ids.nonce(),
  text: `part ${index}`,
  at: noon,
  ...facts,
});

export const streamsSuite = ({ name, open }: Subject<Streams>) =>
  describe(`streams: ${name}`, () => {
    let opened: Opened<Streams>;
    let streams: Streams;
    beforeAll(async () => {
      opened = await open();
      streams = opened.port;
    });
    afterAll(() => opened.close());

    test('one of twenty concurrent owners wins an index, and the others see the owner', async () => {
      const run = freshRun();
      const rivals = Array.from({ length: 20 }, () => delta(0));
      const results = await Promise.all(rivals.map((rival) => streams.put(run, node, rival, expiresAt)));
      const [winner, ...others] = rivals.filter((_, at) => results[at]?.kind === 'stored');
      expect(others).toEqual([]);
      const owners = results.flatMap((result) => (result.kind === 'occupied' ? [result.owner] : []));
      expect(owners).toHaveLength(19);
      expect(new Set(owners)).toEqual(new Set([winner?.owner]));
      expect(await streams.from(run, node, 0, 10)).toEqual([winner]);
    });

    test('a repeated put finds its own owner and changes nothing', async () => {
      const run = freshRun();
      const own = delta(0);
      expect(await streams.put(run, node, own, expiresAt)).toEqual({ kind: 'stored' });
      expect(await streams.put(run, node, own, expiresAt)).toEqual({ kind: 'occupied', owner: own.owner });
      expect(await streams.from(run, node, 0, 10)).toEqual([own]);
    });

    test('deltas are ordered by index, and a missing index is not filled', async () => {
      const run = freshRun();
      for (const index of [10, 2, 0, 100, 1]) await streams.put(run, node, delta(index), expiresAt);
      const indexes = async (from: number, limit: number) =>
        (await streams.from(run, node, from, limit)).map(({ index }) => index);
      expect(await indexes(0, 10)).toEqual([0, 1, 2, 10, 100]);
      expect(await indexes(2, 2)).toEqual([2, 10]);
      expect(await indexes(101, 10)).toEqual([]);
      expect((await streams.last(run, node))?.index).toBe(100);
    });

    test('a new stream is empty', async () => {
      const run = freshRun();
      expect([await streams.from(run, node, 0, 10), await streams.last(run, node)]).toEqual([[], undefined]);
    });

    test('any text is read as it was written, also a long one', async () => {
      const run = freshRun();
      const said = [
        delta(0, { text: ' \n\u0000"é😀' }),
        delta(1, { text: 'x'.repeat(100_000) }),
        delta(2, { attempt: attempt(2) }),
      ];
      for (const one of said) await streams.put(run, node, one, expiresAt);
      expect(await streams.from(run, node, 0, 10)).toEqual(said);
    });

    test('nodes, iterations and runs have separate streams, for any names', async () => {
      const run = freshRun();
      const keys = ['a', 'a.b', 'a:b', 'a@each[1]', 'a@each[10]'] as const;
      const named = keys.map((key) => key as NodeKey);
      const said = named.map((_, at) => delta(at % 2));
      for (const [at, key] of named.entries()) await streams.put(run, key, said[at] ?? delta(0), expiresAt);
      for (const [at, key] of named.entries()) expect(await streams.from(run, key, 0, 10)).toEqual([said[at]]);
      expect(await streams.from(freshRun(), nodeKey(loopNode), 0, 10)).toEqual([]);
    });
  });
