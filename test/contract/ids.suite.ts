/** Contract of `Ids`. */
import { describe, expect, test } from 'vitest';
import { after, durationMs } from '../../lib/engine/time.ts';
import type { Ids } from '../../lib/ports/system.ts';
import { noon } from './samples.ts';

export const idsSuite = ({ name, ids }: { name: string; ids: Ids }) =>
  describe(`ids: ${name}`, () => {
    test('run ids sort by the time of creation', () => {
      const moments = Array.from({ length: 200 }, (_, index) => after(noon, durationMs(index)));
      const runIds = moments.map((moment) => ids.runId(moment));
      expect(runIds.toSorted()).toEqual(runIds);
    });

    test('ids are unique', () => {
      const given = Array.from({ length: 5_000 }, () => [ids.runId(noon), ids.nonce()]).flat();
      expect(new Set(given).size).toBe(given.length);
    });

    test('random numbers are in [0, 1) and evenly distributed over both halves', () => {
      const drawn = Array.from({ length: 10_000 }, () => ids.random());
      expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true);
      const low = drawn.filter((value) => value < 0.5).length;
      expect(low).toBeGreaterThan(4_500);
      expect(low).toBeLessThan(5_500);
    });
  });
