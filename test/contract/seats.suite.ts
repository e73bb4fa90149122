/** What every keeper of seats must hold: a reader's seat is the last one's who was given it, and nobody else's concern. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { MemoryIds } from '../../lib/memory/ids.ts';
import type { Reader, Seats } from '../../lib/ports/seats.ts';
import { expiresAt, freshRun } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(7);
const reader = (): Reader => ({ run: freshRun(), keyId: keyId('0123456789'), name: 'a page of Ann’s # 1' });

export const seatsSuite = ({ name, open }: Subject<Seats>) =>
  describe(`seats: ${name}`, () => {
    let opened: Opened<Seats>;
    let seats: Seats;
    beforeAll(async () => {
      opened = await open();
      seats = opened.port;
    });
    afterAll(() => opened.close());

    test('a seat that was given to nobody has no holder', async () => {
      expect(await seats.holder(reader())).toBeUndefined();
    });

    test('the last who was given a seat has it, and is given it again without harm', async () => {
      const [mine, first, second] = [reader(), ids.nonce(), ids.nonce()];
      await seats.give(mine, first, expiresAt);
      expect(await seats.holder(mine)).toBe(first);
      await seats.give(mine, second, expiresAt);
      await seats.give(mine, second, expiresAt);
      expect(await seats.holder(mine)).toBe(second);
    });

    test('one of twenty who are given a seat at once has it', async () => {
      const [mine, streams] = [reader(), Array.from({ length: 20 }, () => ids.nonce())];
      await Promise.all(streams.map((stream) => seats.give(mine, stream, expiresAt)));
      const [one, again] = [await seats.holder(mine), await seats.holder(mine)];
      expect(streams).toContain(one);
      expect(again).toBe(one);
    });

    test('a reader of another name, key, run, project or environment has a seat of its own', async () => {
      const [mine, stream] = [reader(), ids.nonce()];
      await seats.give(mine, stream, expiresAt);
      const others: readonly Reader[] = [
        { ...mine, name: 'a page of Ann’s' },
        { ...mine, keyId: keyId('0123456780') },
        { ...mine, run: freshRun() },
        { ...mine, run: { ...mine.run, projectId: projectId('other') } },
        { ...mine, run: { ...mine.run, environment: environment('other') } },
      ];
      for (const other of others) {
        expect(await seats.holder(other)).toBeUndefined();
        await seats.give(other, ids.nonce(), expiresAt);
      }
      expect(await seats.holder(mine)).toBe(stream);
    });
  });
