import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { commitNo } from '../../../lib/engine/ids.ts';
import { foldSchema } from '../../../lib/engine/log/fold.ts';
import { storeFold } from '../../../lib/engine/log/stored-fold.ts';
import type { Blobs } from '../../../lib/ports/blobs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { readRunFold } from '../../../lib/service/run-log/read-run-fold.ts';
import { stopTestRun } from '../../../lib/service/runs/stop-test-run.ts';
import { type TestEnv, failing, finished, createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { definitionOf, startTestRun } from '../test-run-fixture.ts';

/** A chain so long that a snapshot is worth its write, and a node at its end that is never answered well. */
const chain = (length: number): string => Array.from({ length }, (_, index) => `a${index}>a${index + 1}`).join(' ');

async function longRun(home: TestEnv, length = 80) {
  await home.publish(workflow('flow', `${chain(length)} a${length}>z`, { z: { ms: 7_200_000 } }));
  const run = await home.begin('flow');
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
  return run;
}

const withoutSnapshots = (deps: Deps): Deps => ({
  ...deps,
  log: overrideMethods(deps.log, { snapshot: async () => undefined }),
});

describe('a snapshot', () => {
  it('is taken when a chain ends that made the log long, and folds on to the same state as the whole log', async () => {
    const home = createTestEnv({ answer: (node, number) => (node === 'a3' && number === 1 ? failing('error') : finished(node)) });
    const run = await longRun(home);
    await home.settle();
    const snapshot = await home.ports.log.snapshot(run);
    expect(snapshot?.asOf).toBeGreaterThanOrEqual(64);
    const [quick, whole] = [await readRunFold(home.deps, run), await readRunFold(withoutSnapshots(home.deps), run)];
    if (quick === undefined || whole === undefined) throw new Error('the run is gone');
    expect(storeFold(quick.state)).toEqual(storeFold(whole.state));
    expect(quick.snapshotAt).toBe(snapshot?.asOf);
    expect(whole.snapshotAt).toBe(0);
  });

  it('of another schema is ignored', async () => {
    const home = createTestEnv();
    const run = await longRun(home);
    const stored = await home.ports.log.snapshot(run);
    if (stored === undefined) throw new Error('no snapshot was taken');
    const foreign: Deps = {
      ...home.deps,
      log: overrideMethods(home.deps.log, { snapshot: async () => ({ ...stored, schema: stored.schema + 1, state: 'other' }) }),
    };
    expect((await readRunFold(foreign, run))?.snapshotAt).toBe(0);
  });

  it('that says it is of another commit than it is stops the reader', async () => {
    const home = createTestEnv();
    const run = await longRun(home);
    const stored = await home.ports.log.snapshot(run);
    if (stored === undefined) throw new Error('no snapshot was taken');
    const lying: Deps = {
      ...home.deps,
      log: overrideMethods(home.deps.log, { snapshot: async () => ({ ...stored, asOf: commitNo(stored.asOf - 1) }) }),
    };
    await expect(readRunFold(lying, run)).rejects.toThrow('but contains the fold of commit');
  });

  it('is not asked for where a message names a commit of a short log', async () => {
    let asked = 0;
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          snapshot: async () => {
            asked += 1;
            return undefined;
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await readRunFold(home.deps, run, commitNo(1));
    expect(asked).toBe(0);
    await readRunFold(home.deps, run);
    expect(asked).toBe(1);
  });
});

/** Of each node, too small to be stored apart and together too large for an item, however it is packed. */
const bulky = () => finished(randomBytes(4_500).toString('base64'));

describe('a snapshot that fits no item', () => {
  const puts = (home: TestEnv): string[] => {
    const { blobs } = home.ports;
    const keys: string[] = [];
    const put = blobs.put.bind(blobs);
    blobs.put = (scope, key, ...given) => {
      keys.push(key);
      return put(scope, key, ...given);
    };
    return keys;
  };
  async function bulkyRun() {
    const home = createTestEnv({ answer: bulky });
    const keys = puts(home);
    const run = await longRun(home, 100);
    return { home, run, keys };
  }

  it('lies in the bucket, is read from there, and folds on to the same state as the whole log', async () => {
    const { home, run, keys } = await bulkyRun();
    const stored = await home.ports.log.snapshot(run);
    // To a reader that knows nothing of it, it is of another schema.
    expect(stored).toEqual({ asOf: expect.any(Number), schema: -foldSchema, state: expect.stringContaining(`${run.runId}/`) });
    expect(keys).toEqual([stored?.state]);
    let read = 0;
    const log = overrideMethods(home.deps.log, {
      commitsAfter: async (...given) => {
        const commits = await home.deps.log.commitsAfter(...given);
        read += commits.length;
        return commits;
      },
    });
    const [quick, whole] = [await readRunFold({ ...home.deps, log }, run), await readRunFold(withoutSnapshots(home.deps), run)];
    if (quick === undefined || whole === undefined) throw new Error('the run is gone');
    expect(storeFold(quick.state)).toEqual(storeFold(whole.state));
    expect([quick.snapshotAt, whole.snapshotAt]).toEqual([stored?.asOf, 0]);
    expect(read).toBe(quick.state.asOf - (stored?.asOf ?? 0));
  });

  const get = (answer: Blobs['get']) => (deps: Deps) => ({ log: deps.log, blobs: overrideMethods(deps.blobs, { get: answer }) });
  it.each([
    ['is gone', get(async () => undefined)],
    ['cannot be read now', get(() => Promise.reject(new Unavailable('the bucket')))],
    ['is where the reader may not go', ({ log }: Deps) => ({ log })],
  ])('and %s is none: the log is read', async (_what, reader) => {
    const { home, run } = await bulkyRun();
    const fold = await readRunFold(reader(home.deps), run);
    const whole = await readRunFold(withoutSnapshots(home.deps), run);
    if (fold === undefined || whole === undefined) throw new Error('the run is gone');
    expect(fold.snapshotAt).toBe(0);
    expect(storeFold(fold.state)).toEqual(storeFold(whole.state));
  });

  it('and cannot be written now is left out, and the run goes on', async () => {
    const home = createTestEnv({
      answer: bulky,
      wrap: (deps) => ({
        ...deps,
        blobs: overrideMethods(deps.blobs, { put: () => Promise.reject(new Unavailable('the bucket')) }),
      }),
    });
    const run = await longRun(home, 100);
    expect(await home.ports.log.snapshot(run)).toBeUndefined();
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('of a test run goes with the test', async () => {
    const home = createTestEnv({ answer: bulky });
    const keys = puts(home);
    const run = await startTestRun(
      home,
      definitionOf('draft', `a>b0 ${chain(100).replaceAll('a', 'b')} b100>z`, { z: { ms: 7_200_000 } }),
    );
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect(keys).toHaveLength(1);
    await stopTestRun(home.worker, run);
    expect(await home.ports.blobs.get(run, keys[0] ?? '')).toBeUndefined();
  });
});
