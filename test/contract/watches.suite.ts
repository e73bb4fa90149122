/** Contract of `Watches`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hops } from '../../lib/engine/hops.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import type { Watch, Watches } from '../../lib/ports/sockets.ts';
import { freshRun } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface WatchesUnderTest {
  readonly watches: Watches;
  /** receives and deletes the messages, at most one of each run */
  taken(): Promise<readonly Watch[]>;
  /** the hops of a received watch */
  hopsOf(watch: Watch): number;
}

const ids = new MemoryIds(11);

export const watchesSuite = ({ name, open }: Subject<WatchesUnderTest>) =>
  describe(`watches: ${name}`, () => {
    let opened: Opened<WatchesUnderTest>;
    beforeAll(async () => void (opened = await open()));
    afterAll(() => opened.close());

    test('a watch has its run and its broadcast id', async () => {
      const watch = { run: freshRun(), broadcastId: ids.nonce() };
      await opened.port.watches.send(watch);
      expect(await opened.port.taken()).toEqual([watch]);
    });

    test('a watch has its hops, with 0 by default', async () => {
      await opened.port.watches.send({ run: freshRun(), broadcastId: ids.nonce() }, hops(4));
      await opened.port.watches.send({ run: freshRun(), broadcastId: ids.nonce() });
      expect((await opened.port.taken()).map((watch) => opened.port.hopsOf(watch))).toEqual([4, 0]);
    });

    test('a repeated send is deduplicated, and another broadcast id is another message', async () => {
      const [one, other] = [
        { run: freshRun(), broadcastId: ids.nonce() },
        { run: freshRun(), broadcastId: ids.nonce() },
      ];
      for (const watch of [one, one, other, one]) await opened.port.watches.send(watch);
      expect(await opened.port.taken()).toEqual([one, other]);
      expect(await opened.port.taken()).toEqual([]);
    });
  });
