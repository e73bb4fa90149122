import { describe, expect, it } from 'vitest';
import { commitNo } from '../../lib/engine/ids.ts';
import { storeFold } from '../../lib/engine/log/stored-fold.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { readRun } from '../../lib/service/read-log.ts';
import { type House, failing, finished, house, workflow } from './house.ts';
import { replaced } from './replaced.ts';

/** A chain so long that a snapshot is worth its write, and a node at its end that is never answered well. */
const chain = (length: number): string => Array.from({ length }, (_, index) => `a${index}>a${index + 1}`).join(' ');

async function longRun(home: House, length = 80) {
  await home.publish(workflow('flow', `${chain(length)} a${length}>z`, { z: { ms: 7_200_000 } }));
  const run = await home.begin('flow');
  for (const job of home.world.jobs.takeSent()) await home.take(job);
  return run;
}

const withoutSnapshots = (deps: Deps): Deps => ({
  ...deps,
  log: replaced(deps.log, { snapshot: async () => undefined }),
});

describe('a snapshot', () => {
  it('is taken when a chain ends that made the log long, and folds on to the same state as the whole log', async () => {
    const home = house({ answer: (node, number) => (node === 'a3' && number === 1 ? failing('error') : finished(node)) });
    const run = await longRun(home);
    await home.settle();
    const snapshot = await home.world.log.snapshot(run);
    expect(snapshot?.asOf).toBeGreaterThanOrEqual(64);
    const [quick, whole] = [await readRun(home.deps, run), await readRun(withoutSnapshots(home.deps), run)];
    if (quick === undefined || whole === undefined) throw new Error('the run is gone');
    expect(storeFold(quick.state)).toEqual(storeFold(whole.state));
    expect(quick.snapshotAt).toBe(snapshot?.asOf);
    expect(whole.snapshotAt).toBe(0);
  });

  it('of another schema is ignored', async () => {
    const home = house();
    const run = await longRun(home);
    const stored = await home.world.log.snapshot(run);
    if (stored === undefined) throw new Error('no snapshot was taken');
    const foreign: Deps = {
      ...home.deps,
      log: replaced(home.deps.log, { snapshot: async () => ({ ...stored, schema: stored.schema + 1, state: 'other' }) }),
    };
    expect((await readRun(foreign, run))?.snapshotAt).toBe(0);
  });

  it('that says it is of another commit than it is stops the reader', async () => {
    const home = house();
    const run = await longRun(home);
    const stored = await home.world.log.snapshot(run);
    if (stored === undefined) throw new Error('no snapshot was taken');
    const lying: Deps = {
      ...home.deps,
      log: replaced(home.deps.log, { snapshot: async () => ({ ...stored, asOf: commitNo(stored.asOf - 1) }) }),
    };
    await expect(readRun(lying, run)).rejects.toThrow('a snapshot of commit');
  });

  it('is not asked for where a message names a commit of a short log', async () => {
    let asked = 0;
    const home = house({
      wrap: (deps) => ({
        ...deps,
        log: replaced(deps.log, {
          snapshot: async () => {
            asked += 1;
            return undefined;
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await readRun(home.deps, run, commitNo(1));
    expect(asked).toBe(0);
    await readRun(home.deps, run);
    expect(asked).toBe(1);
  });
});
