/** What every sender of watches must hold: what was sent is there, and what was sent twice is there once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hops } from '../../lib/engine/hops.ts';
import { MemoryIds } from '../../lib/memory/ids.ts';
import type { Watch, Watches } from '../../lib/ports/watches.ts';
import { freshRun } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface WatchesUnderTest {
  readonly watches: Watches;
  /** what lies there, at most one of each run; it is gone then */
  taken(): Promise<readonly Watch[]>;
  /** what came with a watch that was taken */
  hopsOf(watch: Watch): number;
}

const ids = new MemoryIds(11);

export const watchesSuite = ({ name, open }: Subject<WatchesUnderTest>) =>
  describe(`watches: ${name}`, () => {
    let opened: Opened<WatchesUnderTest>;
    beforeAll(async () => void (opened = await open()));
    afterAll(() => opened.close());

    test('a watch says whose run it is of, and which turn', async () => {
      const watch = { run: freshRun(), broadcastId: ids.nonce() };
      await opened.port.watches.send(watch);
      expect(await opened.port.taken()).toEqual([watch]);
    });

    test('a watch carries the hops that led to it, and none where none did', async () => {
      await opened.port.watches.send({ run: freshRun(), broadcastId: ids.nonce() }, hops(4));
      await opened.port.watches.send({ run: freshRun(), broadcastId: ids.nonce() });
      expect((await opened.port.taken()).map((watch) => opened.port.hopsOf(watch))).toEqual([4, 0]);
    });

    test('sent again it is the same one, and another turn is another', async () => {
      const [one, other] = [
        { run: freshRun(), broadcastId: ids.nonce() },
        { run: freshRun(), broadcastId: ids.nonce() },
      ];
      for (const watch of [one, one, other, one]) await opened.port.watches.send(watch);
      expect(await opened.port.taken()).toEqual([one, other]);
      expect(await opened.port.taken()).toEqual([]);
    });
  });
