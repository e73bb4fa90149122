import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { commitNo } from '../../../lib/engine/ids.ts';
import { foldSchema } from '../../../lib/engine/log/fold.ts';
import { storeFold } from '../../../lib/engine/log/stored-fold.ts';
import type { Blobs } from '../../../lib/ports/run-records.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { readRunFold } from '../../../lib/service/run-log/read-run-fold.ts';
import { stopTestRun } from '../../../lib/service/runs/stop-test-run.ts';
import { type TestEnv, failing, finished, createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { definitionOf, startTestRun } from '../test-run-fixture.ts';

/** A chain long enough for a snapshot, with a last node that always fails. */
const chain = (length: number): string => Array.from({ length }, (_, index) => `a${index}>a${index + 1}`).join(' ');

async function longRun(env: TestEnv, length = 80) {
  await env.publish(workflow('flow', `${chain(length)} a${length}>z`, { z: { ms: 7_200_000 } }));
  const run = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  return run;
}

const withoutSnapshots = (deps: Deps): Deps => ({
  ...deps,
  log: overrideMethods(deps.log, { snapshot: async () => undefined }),
});

describe('a snapshot', () => {
  it('is stored after a long chain, and folds with later commits to the state of the whole log', async () => {
    const env = createTestEnv({ answer: (node, number) => (node === 'a3' && number === 1 ? failing('error') : finished(node)) });
    const run = await longRun(env);
    await env.settle();
    const snapshot = await env.ports.log.snapshot(run);
    expect(snapshot?.asOf).toBeGreaterThanOrEqual(64);
    const [quick, whole] = [await readRunFold(env.deps, run), await readRunFold(withoutSnapshots(env.deps), run)];
    if (quick === undefined || whole === undefined) throw new Error('the run is gone');
    expect(storeFold(quick.state)).toEqual(storeFold(whole.state));
    expect(quick.snapshotAt).toBe(snapshot?.asOf);
    expect(whole.snapshotAt).toBe(0);
  });

  it('of another schema is ignored', async () => {
    const env = createTestEnv();
    const run = await longRun(env);
    const stored = await env.ports.log.snapshot(run);
    if (stored === undefined) throw new Error('no snapshot was taken');
    const foreign: Deps = {
      ...env.deps,
      log: overrideMethods(env.deps.log, { snapshot: async () => ({ ...stored, schema: stored.schema + 1, state: 'other' }) }),
    };
    expect((await readRunFold(foreign, run))?.snapshotAt).toBe(0);
  });

  it('that names a wrong commit stops the reader', async () => {
    const env = createTestEnv();
    const run = await longRun(env);
    const stored = await env.ports.log.snapshot(run);
    if (stored === undefined) throw new Error('no snapshot was taken');
    const lying: Deps = {
      ...env.deps,
      log: overrideMethods(env.deps.log, { snapshot: async () => ({ ...stored, asOf: commitNo(stored.asOf - 1) }) }),
    };
    await expect(readRunFold(lying, run)).rejects.toThrow('but contains the fold of commit');
  });

  it('is not read if a message names an early commit', async () => {
    let asked = 0;
    const env = createTestEnv({
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
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await readRunFold(env.deps, run, commitNo(1));
    expect(asked).toBe(0);
    await readRunFold(env.deps, run);
    expect(asked).toBe(1);
  });
});

/** Output of each node: too small to be offloaded, but together too large for an item even when compressed. */
const bulky = () => finished(randomBytes(4_500).toString('base64'));

describe('a snapshot too large for an item', () => {
  const puts = (env: TestEnv): string[] => {
    const { blobs } = env.ports;
    const keys: string[] = [];
    const put = blobs.put.bind(blobs);
    blobs.put = (scope, key, ...given) => {
      keys.push(key);
      return put(scope, key, ...given);
    };
    return keys;
  };
  async function bulkyRun() {
    const env = createTestEnv({ answer: bulky });
    const keys = puts(env);
    const run = await longRun(env, 100);
    return { env, run, keys };
  }

  it('is stored in the bucket, and folds with later commits to the state of the whole log', async () => {
    const { env, run, keys } = await bulkyRun();
    const stored = await env.ports.log.snapshot(run);
    // A reader that does not know it sees another schema.
    expect(stored).toEqual({ asOf: expect.any(Number), schema: -foldSchema, state: expect.stringContaining(`${run.runId}/`) });
    expect(keys).toEqual([stored?.state]);
    let read = 0;
    const log = overrideMethods(env.deps.log, {
      commitsAfter: async (...given) => {
        const commits = await env.deps.log.commitsAfter(...given);
        read += commits.length;
        return commits;
      },
    });
    const [quick, whole] = [await readRunFold({ ...env.deps, log }, run), await readRunFold(withoutSnapshots(env.deps), run)];
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
  ])('is ignored if %s: the log is read', async (_what, reader) => {
    const { env, run } = await bulkyRun();
    const fold = await readRunFold(reader(env.deps), run);
    const whole = await readRunFold(withoutSnapshots(env.deps), run);
    if (fold === undefined || whole === undefined) throw new Error('the run is gone');
    expect(fold.snapshotAt).toBe(0);
    expect(storeFold(fold.state)).toEqual(storeFold(whole.state));
  });

  it('is skipped if the bucket is unavailable, and the run continues', async () => {
    const env = createTestEnv({
      answer: bulky,
      wrap: (deps) => ({
        ...deps,
        blobs: overrideMethods(deps.blobs, { put: () => Promise.reject(new Unavailable('the bucket')) }),
      }),
    });
    const run = await longRun(env, 100);
    expect(await env.ports.log.snapshot(run)).toBeUndefined();
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('of a test run is deleted with the test run', async () => {
    const env = createTestEnv({ answer: bulky });
    const keys = puts(env);
    const run = await startTestRun(
      env,
      definitionOf('draft', `a>b0 ${chain(100).replaceAll('a', 'b')} b100>z`, { z: { ms: 7_200_000 } }),
    );
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect(keys).toHaveLength(1);
    await stopTestRun(env.worker, run);
    expect(await env.ports.blobs.get(run, keys[0] ?? '')).toBeUndefined();
  });
});
