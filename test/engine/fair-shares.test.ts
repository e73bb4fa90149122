/** Message groups of a project and a workflow, the group of a job, and the time slice of a node. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { workflowName } from '../../lib/engine/ids.ts';
import {
  type ScriptsEnd,
  fairSharesOf,
  firstTimeSlice,
  provenTimeSlice,
  regularLaneGroup,
  repeatTimeSlice,
  slowLaneGroup,
  timeSliceAfter,
} from '../../lib/engine/fair-shares.ts';
import { bundleNode, freshRun } from '../contract/samples.ts';

const workers = fc.integer({ min: 1, max: 1_000 });
const percent = fc.integer({ min: 1, max: 100 });
const of = (resend = 0) => ({ runId: freshRun().runId, node: bundleNode, resend });
const several = Array.from({ length: 200 });

describe('a project', () => {
  test('runs slow scripts on half of the workers, and without a limit other jobs on all', () => {
    expect([1, 2, 3, 4, 8, 100, 1_000].map((count) => fairSharesOf(count, 100))).toEqual(
      [1, 1, 1, 2, 4, 50, 500].map((slow) => ({ slow })),
    );
  });

  test('with a limit has its percentage of the workers as groups, at least two', () => {
    expect(fairSharesOf(100, 40)).toEqual({ slow: 20, regular: 20 });
    expect(fairSharesOf(100, 25)).toEqual({ slow: 12, regular: 13 });
    expect(fairSharesOf(100, 1)).toEqual({ slow: 1, regular: 1 });
    expect(fairSharesOf(4, 99)).toEqual({ slow: 1, regular: 2 });
    fc.assert(
      fc.property(workers, percent, (count, most) => {
        const { slow, regular } = fairSharesOf(count, most);
        if (regular === undefined) expect(most).toBe(100);
        else expect(slow + regular).toBe(Math.max(2, Math.floor((count * most) / 100)));
        expect(Math.min(slow, regular ?? 1)).toBeGreaterThan(0);
      }),
    );
  });
});

test('a workflow uses at most half of its project’s slow lane, also for resends', () => {
  fc.assert(
    fc.property(workers, fc.stringMatching(/^[A-Za-z0-9]{1,20}$/), (count, name) => {
      const shares = fairSharesOf(count, 100);
      const lanes = new Set(several.map((_one, resend) => slowLaneGroup(shares, workflowName(name), of(resend % 5))));
      expect(lanes.size).toBeLessThanOrEqual(Math.max(1, Math.floor(shares.slow / 2)));
      for (const lane of lanes) expect([lane >= 0, lane < shares.slow, Number.isInteger(lane)]).toEqual([true, true, true]);
    }),
    { numRuns: 50 },
  );
});

test('runs of a workflow are spread over its groups, and workflows over those of their project', () => {
  const shares = fairSharesOf(16, 100);
  const ofOne = new Set(several.map(() => slowLaneGroup(shares, workflowName('one'), of())));
  expect(ofOne.size).toBe(4);
  const ofMany = new Set(several.map((_one, number) => slowLaneGroup(shares, workflowName(`workflow-${number}`), of())));
  expect(ofMany.size).toBe(8);
  const first = new Set(several.map(() => regularLaneGroup(5, of())));
  expect(first).toEqual(new Set([0, 1, 2, 3, 4]));
});

test('a resent job uses another group than the first send, if there is one', () => {
  const { runId, node } = of();
  const lanes = [0, 1, 2].map((resend) => slowLaneGroup(fairSharesOf(16, 100), workflowName('one'), { runId, node, resend }));
  expect(new Set(lanes).size).toBe(3);
  expect(regularLaneGroup(3, { runId, node, resend: 1 })).not.toBe(regularLaneGroup(3, { runId, node, resend: 0 }));
});

describe('the time slice after an attempt', () => {
  const slices = [firstTimeSlice, provenTimeSlice, repeatTimeSlice];
  const after = (end: ScriptsEnd): readonly number[] => slices.map((slice) => timeSliceAfter(slice, end));

  test('is 50 ms where nothing is known, 100 ms for a proven node, and 10 ms after an overrun', () => {
    expect(slices).toEqual([50, 100, 10]);
  });

  test('that ended within 100 ms of CPU time is 100 ms', () => {
    for (const cpuMs of [0, 0.4, 10, 50, 99.9, 100]) expect(after({ cpuMs })).toEqual([100, 100, 100]);
  });

  test('that took longer, or whose CPU time is unknown, is what it was', () => {
    for (const end of [{ cpuMs: 100.1 }, { cpuMs: 30_000 }, {}]) expect(after(end)).toEqual(slices);
  });

  test('that spent its slice is 50 ms for a proven node, and 10 ms for another one', () => {
    expect(after('slice_spent')).toEqual([10, 50, 10]);
  });

  test('is one of the three, and two overruns in a row make it 10 ms', () => {
    const end: fc.Arbitrary<ScriptsEnd> = fc.oneof(
      fc.constant('slice_spent' as const),
      fc.constant({}),
      fc.record({ cpuMs: fc.double({ min: 0, max: 60_000, noNaN: true }) }),
    );
    fc.assert(
      fc.property(fc.array(end), (ends) => {
        const slice = ends.reduce(timeSliceAfter, firstTimeSlice);
        expect(slices).toContain(slice);
        expect(timeSliceAfter(timeSliceAfter(slice, 'slice_spent'), 'slice_spent')).toBe(repeatTimeSlice);
      }),
    );
  });
});
