/** The crash matrix: the small workflows of the corpus here, all of it by `npm run crash-matrix`, whose report is kept. */
import { describe, expect, it } from 'vitest';
import type { Deps } from '../../lib/service/deps.ts';
import { replaced } from '../service/replaced.ts';
import { byChance } from './by-chance.ts';
import { corpus } from './corpus.ts';
import { addRow, emptyRow, matrixOf } from './crash-matrix.ts';
import { type FixedWorkflow, crashRun } from './crash-run.ts';

/** Port calls. Most workflows have no more, and the others take most of the time. */
const mostCalls = 20;

const named = (name: string): FixedWorkflow => {
  const found = Object.values(corpus)
    .flat()
    .find((fixed) => fixed.name === name);
  if (found === undefined) throw new Error(`there is no workflow ${name}`);
  return found;
};

describe('a crash at every port call', () => {
  it.each(Object.entries(corpus))('leaves nothing lost and leads to the same end: %s', async (_group, fixed) => {
    const all = emptyRow();
    for (const each of fixed) {
      const { calls } = await crashRun(each);
      if (calls.length <= mostCalls) addRow(all, await matrixOf(each));
    }
    expect(all.workflows).toBeGreaterThan(fixed.length / 4);
    expect(all.violations).toEqual([]);
    expect([all.struck, all.crashes]).toEqual([all.calls * 2, all.calls * 2]);
    expect(all.compared).toBeGreaterThan(all.crashes * 0.7);
  });

  it('and at every later one again: the smallest', async () => {
    const { violations, pairs, aimed, struck } = await matrixOf(named('start-and-end-alone'), { mostCallsForPairs: 20 });
    expect(violations).toEqual([]);
    expect([pairs > 100, struck]).toEqual([true, aimed]);
  });

  it('is only left to chance for what there is', () => {
    for (const name of byChance.keys()) expect(named(name).name).toBe(name);
  });
});

describe('the matrix turns red', () => {
  /** A run that nobody is to look at: what its process had not sent when it died is never sent. */
  const unwatched = (world: Deps): Deps => ({ ...world, index: replaced(world.index, { markDue: async () => undefined }) });

  it.each(['linear', 'code: one step'])('where a send is lost with its process and nobody looks again: %s', async (name) => {
    const { violations, calls } = await matrixOf(named(name), { planted: unwatched });
    expect(violations.length).toBeGreaterThan(0);
    expect(violations.length).toBeLessThan(calls * 2);
    expect(violations.join('\n')).toContain('jobs.send: invariant 5');
  });
});
