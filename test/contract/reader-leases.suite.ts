/** Contract of `ReaderLeases`: the last stream that acquired a reader's lease holds it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import { type Instant, after, instant, minutes } from '../../lib/engine/time.ts';
import type { Reader, ReaderLeases, StreamSlot } from '../../lib/ports/watching.ts';
import { expiresAt, freshRun, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(7);
const justBefore = (at: Instant): Instant => instant(at - 1);
const reader = (): Reader => ({ run: freshRun(), keyId: keyId('0123456789'), name: 'a page of Ann’s # 1' });

export const readerLeasesSuite = ({ name, open }: Subject<ReaderLeases>) =>
  describe(`reader leases: ${name}`, () => {
    let opened: Opened<ReaderLeases>;
    let leases: ReaderLeases;
    beforeAll(async () => {
      opened = await open();
      leases = opened.port;
    });
    afterAll(() => opened.close());

    test('a new lease has no holder', async () => {
      expect(await leases.holder(reader())).toBeUndefined();
    });

    test('the last stream to acquire a lease holds it, and a repeated acquire changes nothing', async () => {
      const [target, first, second] = [reader(), ids.nonce(), ids.nonce()];
      await leases.acquire(target, first, expiresAt);
      expect(await leases.holder(target)).toBe(first);
      await leases.acquire(target, second, expiresAt);
      await leases.acquire(target, second, expiresAt);
      expect(await leases.holder(target)).toBe(second);
    });

    test('one of twenty concurrent streams holds the lease', async () => {
      const [target, streams] = [reader(), Array.from({ length: 20 }, () => ids.nonce())];
      await Promise.all(streams.map((stream) => leases.acquire(target, stream, expiresAt)));
      const [one, again] = [await leases.holder(target), await leases.holder(target)];
      expect(streams).toContain(one);
      expect(again).toBe(one);
    });

    describe('stream slots', () => {
      // Slots belong to the installation, so each test frees all of its slots.
      const now = noon;
      const lease = (maxSlots: number, at = now) => ({ stream: ids.nonce(), maxSlots, now: at, until: after(at, minutes(6)) });
      const slotsOf = (taken: readonly (StreamSlot | undefined)[]): readonly StreamSlot[] =>
        taken.filter((slot) => slot !== undefined);
      const freeAll = (slots: readonly StreamSlot[]) => Promise.all(slots.map((slot) => leases.releaseStreamSlot(slot)));

      test('of twenty concurrent streams as many as the limit get a slot', async () => {
        const held = slotsOf(await Promise.all(Array.from({ length: 20 }, () => leases.acquireStreamSlot(lease(5)))));
        expect(held).toHaveLength(5);
        expect(new Set(held.map(({ number }) => number))).toEqual(new Set([0, 1, 2, 3, 4]));
        expect(await leases.acquireStreamSlot(lease(5))).toBeUndefined();
        await freeAll(held);
      });

      test('a freed slot can be leased, and a repeated release does not free it again', async () => {
        const first = await leases.acquireStreamSlot(lease(1));
        await freeAll(slotsOf([first]));
        const second = await leases.acquireStreamSlot(lease(1));
        expect(second?.number).toBe(0);
        await freeAll(slotsOf([first]));
        expect(await leases.acquireStreamSlot(lease(1))).toBeUndefined();
        await freeAll(slotsOf([second]));
      });

      test('a slot is free after its lease ends, and not before', async () => {
        const target = lease(1);
        const held = await leases.acquireStreamSlot(target);
        expect(held).toBeDefined();
        expect(await leases.acquireStreamSlot(lease(1, justBefore(target.until)))).toBeUndefined();
        const next = await leases.acquireStreamSlot(lease(1, target.until));
        expect(next?.number).toBe(0);
        // A late release by the previous stream changes nothing.
        await freeAll(slotsOf([held]));
        expect(await leases.acquireStreamSlot(lease(1, target.until))).toBeUndefined();
        await freeAll(slotsOf([next]));
      });

      test('with a lower limit no slot above it is leased', async () => {
        const held = slotsOf(await Promise.all(Array.from({ length: 3 }, () => leases.acquireStreamSlot(lease(3)))));
        await freeAll(held.filter(({ number }) => number > 0));
        expect(await leases.acquireStreamSlot(lease(1))).toBeUndefined();
        await freeAll(held);
      });
    });

    test('a reader of another name, key, run, project or environment has its own lease', async () => {
      const [target, stream] = [reader(), ids.nonce()];
      await leases.acquire(target, stream, expiresAt);
      const others: readonly Reader[] = [
        { ...target, name: 'a page of Ann’s' },
        { ...target, keyId: keyId('0123456780') },
        { ...target, run: freshRun() },
        { ...target, run: { ...target.run, projectId: projectId('other') } },
        { ...target, run: { ...target.run, environment: environment('other') } },
      ];
      for (const other of others) {
        expect(await leases.holder(other)).toBeUndefined();
        await leases.acquire(other, ids.nonce(), expiresAt);
      }
      expect(await leases.holder(target)).toBe(stream);
    });
  });
