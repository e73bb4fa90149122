/** What every keeper of the places of workflows must keep. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunId, workflowName } from '../../lib/engine/ids.ts';
import type { SlotPoolKey, WaitingRun } from '../../lib/engine/concurrency-slots.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { ConcurrencySlots } from '../../lib/ports/concurrency-slots.ts';
import { expiresAt, freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const concurrencySlotsSuite = ({ name, open }: Subject<ConcurrencySlots>) =>
  describe(`places: ${name}`, () => {
    let opened: Opened<ConcurrencySlots>;
    let places: ConcurrencySlots;
    beforeAll(async () => {
      opened = await open();
      places = opened.port;
    });
    afterAll(() => opened.close());

    const here = (): SlotPoolKey => ({ ...freshScope(), workflowName: workflowName('flow') });
    const someone = (): RunId => freshRun(freshScope()).runId;
    const waits = (count: number, facts: Partial<WaitingRun> = {}): WaitingRun => ({
      runId: someone(),
      since: after(noon, minutes(count)),
      slots: 3,
      ...facts,
    });

    test('where nobody was nothing is taken, and nobody waits', async () => {
      const of = here();
      expect([await places.taken(of), await places.waiting(of, 10)]).toEqual([[], []]);
    });

    test('a place has one holder, who may take it once more, and is one of its workflow and scope', async () => {
      const [of, run, other] = [here(), someone(), someone()];
      expect(await places.acquire(of, 2, run, expiresAt)).toBe(true);
      expect(await places.acquire(of, 2, other, expiresAt)).toBe(false);
      expect(await places.acquire(of, 2, run, expiresAt)).toBe(true);
      expect(await places.taken(of)).toEqual([{ slot: 2, runId: run }]);
      for (const elsewhere of [{ ...of, workflowName: workflowName('flow2') }, here()]) {
        expect(await places.taken(elsewhere)).toEqual([]);
        expect(await places.acquire(elsewhere, 2, other, expiresAt)).toBe(true);
      }
    });

    test('of rivals for a place one gets it', async () => {
      const of = here();
      const won = await Promise.all(Array.from({ length: 10 }, () => places.acquire(of, 0, someone(), expiresAt)));
      expect(won.filter(Boolean)).toHaveLength(1);
    });

    test('all that are taken are told, in order, however many they are', async () => {
      const of = here();
      const numbers = Array.from({ length: 120 }, (_, place) => place * 8);
      await Promise.all(numbers.map((place) => places.acquire(of, place, someone(), expiresAt)));
      expect((await places.taken(of)).map(({ slot }) => slot)).toEqual(numbers);
    });

    test('only its holder gives a place back, and then anybody may take it', async () => {
      const [of, run, other] = [here(), someone(), someone()];
      await places.acquire(of, 0, run, expiresAt);
      await places.release(of, 0, other);
      expect(await places.taken(of)).toHaveLength(1);
      await places.release(of, 0, run);
      await places.release(of, 0, run);
      expect(await places.acquire(of, 0, other, expiresAt)).toBe(true);
      await places.release(of, 0, run);
      expect(await places.taken(of)).toEqual([{ slot: 0, runId: other }]);
    });

    test('those who wait are told by the time of their start, the first ones only, each once', async () => {
      const of = here();
      const [first, second, third] = [waits(0), waits(1, { slots: 1 }), waits(2)];
      for (const run of [third, first, second, first]) await places.enqueue(of, run, expiresAt);
      expect(await places.waiting(of, 10)).toEqual([first, second, third]);
      expect(await places.waiting(of, 2)).toEqual([first, second]);
      expect(await places.taken(of)).toEqual([]);
    });

    test('of two at the same moment the lower id is first', async () => {
      const of = here();
      const both = [waits(0), waits(0)].toSorted((one, other) => (one.runId < other.runId ? -1 : 1));
      for (const run of both.toReversed()) await places.enqueue(of, run, expiresAt);
      expect(await places.waiting(of, 10)).toEqual(both);
    });

    test('who leaves waits no more; leaving twice changes nothing', async () => {
      const of = here();
      const [first, second] = [waits(0), waits(1)];
      for (const run of [first, second]) await places.enqueue(of, run, expiresAt);
      await places.dequeue(of, first);
      await places.dequeue(of, first);
      expect(await places.waiting(of, 10)).toEqual([second]);
    });
  });
