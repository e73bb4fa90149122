/** What every keeper of seats must hold: a reader's seat is the last one's who was given it, and nobody else's concern. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { MemoryIds } from '../../lib/memory/ids.ts';
import { type Instant, after, instant, minutes } from '../../lib/engine/time.ts';
import type { Reader, ReaderLeases, StreamSlot } from '../../lib/ports/reader-leases.ts';
import { expiresAt, freshRun, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(7);
const justBefore = (at: Instant): Instant => instant(at - 1);
const reader = (): Reader => ({ run: freshRun(), keyId: keyId('0123456789'), name: 'a page of Ann’s # 1' });

export const readerLeasesSuite = ({ name, open }: Subject<ReaderLeases>) =>
  describe(`seats: ${name}`, () => {
    let opened: Opened<ReaderLeases>;
    let seats: ReaderLeases;
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
      await seats.acquire(mine, first, expiresAt);
      expect(await seats.holder(mine)).toBe(first);
      await seats.acquire(mine, second, expiresAt);
      await seats.acquire(mine, second, expiresAt);
      expect(await seats.holder(mine)).toBe(second);
    });

    test('one of twenty who are given a seat at once has it', async () => {
      const [mine, streams] = [reader(), Array.from({ length: 20 }, () => ids.nonce())];
      await Promise.all(streams.map((stream) => seats.acquire(mine, stream, expiresAt)));
      const [one, again] = [await seats.holder(mine), await seats.holder(mine)];
      expect(streams).toContain(one);
      expect(again).toBe(one);
    });

    describe('slots', () => {
      // Slots are the installation's: each test leaves none held.
      const now = noon;
      const lease = (maxSlots: number, at = now) => ({ stream: ids.nonce(), maxSlots, now: at, until: after(at, minutes(6)) });
      const heldBy = (taken: readonly (StreamSlot | undefined)[]): readonly StreamSlot[] =>
        taken.filter((slot) => slot !== undefined);
      const freeAll = (slots: readonly StreamSlot[]) => Promise.all(slots.map((slot) => seats.releaseStreamSlot(slot)));

      test('of twenty streams that open at once, as many as are allowed get a slot of their own', async () => {
        const held = heldBy(await Promise.all(Array.from({ length: 20 }, () => seats.acquireStreamSlot(lease(5)))));
        expect(held).toHaveLength(5);
        expect(new Set(held.map(({ number }) => number))).toEqual(new Set([0, 1, 2, 3, 4]));
        expect(await seats.acquireStreamSlot(lease(5))).toBeUndefined();
        await freeAll(held);
      });

      test('a slot that is given back can be taken, and giving it back again takes it from nobody', async () => {
        const first = await seats.acquireStreamSlot(lease(1));
        await freeAll(heldBy([first]));
        const second = await seats.acquireStreamSlot(lease(1));
        expect(second?.number).toBe(0);
        await freeAll(heldBy([first]));
        expect(await seats.acquireStreamSlot(lease(1))).toBeUndefined();
        await freeAll(heldBy([second]));
      });

      test('a slot whose lease has ended is free, and not before', async () => {
        const mine = lease(1);
        const held = await seats.acquireStreamSlot(mine);
        expect(held).toBeDefined();
        expect(await seats.acquireStreamSlot(lease(1, justBefore(mine.until)))).toBeUndefined();
        const next = await seats.acquireStreamSlot(lease(1, mine.until));
        expect(next?.number).toBe(0);
        // Whoever comes too late to give it back takes nothing away.
        await freeAll(heldBy([held]));
        expect(await seats.acquireStreamSlot(lease(1, mine.until))).toBeUndefined();
        await freeAll(heldBy([next]));
      });

      test('with a lower bound no slot above it is taken', async () => {
        const held = heldBy(await Promise.all(Array.from({ length: 3 }, () => seats.acquireStreamSlot(lease(3)))));
        await freeAll(held.filter(({ number }) => number > 0));
        expect(await seats.acquireStreamSlot(lease(1))).toBeUndefined();
        await freeAll(held);
      });
    });

    test('a reader of another name, key, run, project or environment has a seat of its own', async () => {
      const [mine, stream] = [reader(), ids.nonce()];
      await seats.acquire(mine, stream, expiresAt);
      const others: readonly Reader[] = [
        { ...mine, name: 'a page of Ann’s' },
        { ...mine, keyId: keyId('0123456780') },
        { ...mine, run: freshRun() },
        { ...mine, run: { ...mine.run, projectId: projectId('other') } },
        { ...mine, run: { ...mine.run, environment: environment('other') } },
      ];
      for (const other of others) {
        expect(await seats.holder(other)).toBeUndefined();
        await seats.acquire(other, ids.nonce(), expiresAt);
      }
      expect(await seats.holder(mine)).toBe(stream);
    });
  });
