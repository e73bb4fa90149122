/**
 * The crash matrix reports violations where it must. The other matrix tests run the whole matrix in parts; `npm run
 * crash-matrix` records it.
 */
import { describe, expect, it } from 'vitest';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { timingDependent, timingDependentAfterTwoCrashes } from './timing-dependent.ts';
import { corpus } from './corpus.ts';
import { runCrashMatrix } from './crash-matrix.ts';
import type { FixedWorkflow } from './crash-run.ts';

const named = (name: string): FixedWorkflow => {
  const found = Object.values(corpus)
    .flat()
    .find((fixed) => fixed.name === name);
  if (found === undefined) throw new Error(`there is no workflow ${name}`);
  return found;
};

describe('two crashes', () => {
  it('at every port call and every later one keep the end of the smallest workflow', async () => {
    const { violations, pairs, aimed, struck } = await runCrashMatrix(named('start-and-end-alone'), { maxCallsForPairs: 20 });
    expect(violations).toEqual([]);
    expect([pairs > 100, struck]).toEqual([true, aimed]);
  });

  it('every timing-dependent workflow exists in the corpus', () => {
    for (const name of timingDependentAfterTwoCrashes.keys()) expect(named(name).name).toBe(name);
    for (const name of timingDependent.keys()) expect(timingDependentAfterTwoCrashes.has(name)).toBe(true);
  });
});

describe('the matrix reports a violation', () => {
  /** A run that no sweep checks: a message that its crashed process had not sent is never sent. */
  const unwatched = (world: Deps): Deps => ({
    ...world,
    index: overrideMethods(world.index, { markDue: async () => undefined }),
  });

  it.each(['linear', 'code: one step'])('when a crash loses a send and no sweep runs: %s', async (name) => {
    const { violations, calls } = await runCrashMatrix(named(name), { planted: unwatched });
    expect(violations.length).toBeGreaterThan(0);
    expect(violations.length).toBeLessThan(calls * 2);
    expect(violations.join('\n')).toContain('jobs.send: invariant 5');
  });
});
