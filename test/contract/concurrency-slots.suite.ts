/** Contract of `ConcurrencySlots`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunId, workflowName } from '../../lib/engine/ids.ts';
import type { SlotPoolKey, WaitingRun } from '../../lib/engine/concurrency-slots.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { ConcurrencySlots } from '../../lib/ports/coordination.ts';
import { expiresAt, freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const concurrencySlotsSuite = ({ name, open }: Subject<ConcurrencySlots>) =>
  describe(`concurrency slots: ${name}`, () => {
    let opened: Opened<ConcurrencySlots>;
    let slots: ConcurrencySlots;
    beforeAll(async () => {
      opened = await open();
      slots = opened.port;
    });
    afterAll(() => opened.close());

    const newPool = (): SlotPoolKey => ({ ...freshScope(), workflowName: workflowName('flow') });
    const newRunId = (): RunId => freshRun(freshScope()).runId;
    const waitingRun = (count: number, facts: Partial<WaitingRun> = {}): WaitingRun => ({
      runId: newRunId(),
      since: after(noon, minutes(count)),
      slots: 3,
      ...facts,
    });

    test('a new pool has no taken slots and no waiting runs', async () => {
      const pool = newPool();
      expect([await slots.taken(pool), await slots.waiting(pool, 10)]).toEqual([[], []]);
    });

    test('a slot has one holder, which may acquire it again, in its own workflow and scope', async () => {
      const [pool, run, other] = [newPool(), newRunId(), newRunId()];
      expect(await slots.acquire(pool, 2, run, expiresAt)).toBe(true);
      expect(await slots.acquire(pool, 2, other, expiresAt)).toBe(false);
      expect(await slots.acquire(pool, 2, run, expiresAt)).toBe(true);
      expect(await slots.taken(pool)).toEqual([{ slot: 2, runId: run }]);
      for (const elsewhere of [{ ...pool, workflowName: workflowName('flow2') }, newPool()]) {
        expect(await slots.taken(elsewhere)).toEqual([]);
        expect(await slots.acquire(elsewhere, 2, other, expiresAt)).toBe(true);
      }
    });

    test('one of several concurrent runs acquires a slot', async () => {
      const pool = newPool();
      const won = await Promise.all(Array.from({ length: 10 }, () => slots.acquire(pool, 0, newRunId(), expiresAt)));
      expect(won.filter(Boolean)).toHaveLength(1);
    });

    test('all taken slots are listed in order', async () => {
      const pool = newPool();
      const numbers = Array.from({ length: 120 }, (_, slot) => slot * 8);
      await Promise.all(numbers.map((slot) => slots.acquire(pool, slot, newRunId(), expiresAt)));
      expect((await slots.taken(pool)).map(({ slot }) => slot)).toEqual(numbers);
    });

    test('an extension keeps the slot of its holder, and gives no slot to another run', async () => {
      const [pool, run, other] = [newPool(), newRunId(), newRunId()];
      await slots.acquire(pool, 0, run, expiresAt);
      for (const each of [run, other]) await slots.extend(pool, 0, each, after(expiresAt, minutes(1)));
      await slots.extend(pool, 1, other, expiresAt);
      expect(await slots.taken(pool)).toEqual([{ slot: 0, runId: run }]);
    });

    test('only its holder releases a slot, and then any run may acquire it', async () => {
      const [pool, run, other] = [newPool(), newRunId(), newRunId()];
      await slots.acquire(pool, 0, run, expiresAt);
      await slots.release(pool, 0, other);
      expect(await slots.taken(pool)).toHaveLength(1);
      await slots.release(pool, 0, run);
      await slots.release(pool, 0, run);
      expect(await slots.acquire(pool, 0, other, expiresAt)).toBe(true);
      await slots.release(pool, 0, run);
      expect(await slots.taken(pool)).toEqual([{ slot: 0, runId: other }]);
    });

    test('waiting runs are listed by their start time, each once, up to the limit', async () => {
      const pool = newPool();
      const [first, second, third] = [waitingRun(0), waitingRun(1, { slots: 1 }), waitingRun(2)];
      for (const run of [third, first, second, first]) await slots.enqueue(pool, run, expiresAt);
      expect(await slots.waiting(pool, 10)).toEqual([first, second, third]);
      expect(await slots.waiting(pool, 2)).toEqual([first, second]);
      expect(await slots.taken(pool)).toEqual([]);
    });

    test('of two runs at the same moment the lower id is first', async () => {
      const pool = newPool();
      const both = [waitingRun(0), waitingRun(0)].toSorted((one, other) => (one.runId < other.runId ? -1 : 1));
      for (const run of both.toReversed()) await slots.enqueue(pool, run, expiresAt);
      expect(await slots.waiting(pool, 10)).toEqual(both);
    });

    test('a dequeued run waits no more, and a repeated dequeue changes nothing', async () => {
      const pool = newPool();
      const [first, second] = [waitingRun(0), waitingRun(1)];
      for (const run of [first, second]) await slots.enqueue(pool, run, expiresAt);
      await slots.dequeue(pool, first);
      await slots.dequeue(pool, first);
      expect(await slots.waiting(pool, 10)).toEqual([second]);
    });
  });
