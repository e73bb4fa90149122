/** How many message groups a project and a workflow have, and which of them a job belongs to. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { workflowName } from '../../lib/engine/ids.ts';
import { firstLane, sharesOf, slowLane } from '../../lib/engine/shares.ts';
import { fetchNode, freshRun } from '../contract/samples.ts';

const workers = fc.integer({ min: 1, max: 1_000 });
const percent = fc.integer({ min: 1, max: 100 });
const of = (resend = 0) => ({ runId: freshRun().runId, node: fetchNode, resend });
const several = Array.from({ length: 200 });

describe('a project', () => {
  test('runs slow scripts on half of the workers, and without a bound everything else on any', () => {
    expect([1, 2, 3, 4, 8, 100, 1_000].map((count) => sharesOf(count, 100))).toEqual(
      [1, 1, 1, 2, 4, 50, 500].map((slow) => ({ slow })),
    );
  });

  test('with a bound has as many groups as its percentage of the workers, two at least', () => {
    expect(sharesOf(100, 40)).toEqual({ slow: 20, first: 20 });
    expect(sharesOf(100, 25)).toEqual({ slow: 12, first: 13 });
    expect(sharesOf(100, 1)).toEqual({ slow: 1, first: 1 });
    expect(sharesOf(4, 99)).toEqual({ slow: 1, first: 2 });
    fc.assert(
      fc.property(workers, percent, (count, most) => {
        const { slow, first } = sharesOf(count, most);
        if (first === undefined) expect(most).toBe(100);
        else expect(slow + first).toBe(Math.max(2, Math.floor((count * most) / 100)));
        expect(Math.min(slow, first ?? 1)).toBeGreaterThan(0);
      }),
    );
  });
});

test('a workflow has at most half of its project’s groups of the slow lane, sent again or not', () => {
  fc.assert(
    fc.property(workers, fc.stringMatching(/^[A-Za-z0-9]{1,20}$/), (count, name) => {
      const shares = sharesOf(count, 100);
      const lanes = new Set(several.map((_one, resend) => slowLane(shares, workflowName(name), of(resend % 5))));
      expect(lanes.size).toBeLessThanOrEqual(Math.max(1, Math.floor(shares.slow / 2)));
      for (const lane of lanes) expect([lane >= 0, lane < shares.slow, Number.isInteger(lane)]).toEqual([true, true, true]);
    }),
    { numRuns: 50 },
  );
});

test('the runs of one workflow are spread over its groups, and workflows over those of their project', () => {
  const shares = sharesOf(16, 100);
  const ofOne = new Set(several.map(() => slowLane(shares, workflowName('one'), of())));
  expect(ofOne.size).toBe(4);
  const ofMany = new Set(several.map((_one, number) => slowLane(shares, workflowName(`workflow-${number}`), of())));
  expect(ofMany.size).toBe(8);
  const first = new Set(several.map(() => firstLane(5, of())));
  expect(first).toEqual(new Set([0, 1, 2, 3, 4]));
});

test('a job that is sent again goes past the one that may be dead, where there is another group', () => {
  const { runId, node } = of();
  const lanes = [0, 1, 2].map((resend) => slowLane(sharesOf(16, 100), workflowName('one'), { runId, node, resend }));
  expect(new Set(lanes).size).toBe(3);
  expect(firstLane(3, { runId, node, resend: 1 })).not.toBe(firstLane(3, { runId, node, resend: 0 }));
});
