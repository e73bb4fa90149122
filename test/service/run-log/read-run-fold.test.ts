/** Reading a run: what is asked for together, and that nobody folds over a hole. */
import { expect, test } from 'vitest';
import { type RunAddress, commitNo, firstCommit } from '../../../lib/engine/ids.ts';
import { storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { readRunFold } from '../../../lib/service/run-log/read-run-fold.ts';
import { reconcileChild } from '../../../lib/service/execution/reconcile-child.ts';
import { type TestEnv, createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

async function shortRun(): Promise<{ readonly home: TestEnv; readonly run: RunAddress }> {
  const home = createTestEnv();
  await home.publish(workflow('flow', 'a>b b>c c>d d>e'));
  const run = await home.begin('flow');
  await home.settle();
  return { home, run };
}

/** A log that says in which order it was asked, and does not say what a head is before `isReported`. */
function slow({ deps }: TestEnv, isTold: Promise<void>) {
  const asked: string[] = [];
  const log = overrideMethods(deps.log, {
    head: async (run) => {
      asked.push(`head of ${run.runId}`);
      await isTold;
      return deps.log.head(run);
    },
    commitsAfter: async (run, number) => {
      asked.push(`commits above ${number}`);
      return deps.log.commitsAfter(run, number);
    },
  });
  return { asked, log };
}

test('a log that needs no snapshot is asked for beside its head', async () => {
  const { home, run } = await shortRun();
  const told = Promise.withResolvers<void>();
  const { asked, log } = slow(home, told.promise);
  const reading = readRunFold({ log }, run, firstCommit);
  await Promise.resolve();
  expect(asked).toEqual([`head of ${run.runId}`, 'commits above 1']);
  told.resolve();
  expect((await reading)?.state.progress.status).toBe('completed');
  expect(asked).toHaveLength(2);
});

test('where that answer has a hole, the rest is asked for again', async () => {
  const { home, run } = await shortRun();
  const asked: number[] = [];
  const torn = overrideMethods(home.deps.log, {
    commitsAfter: async (address, after) => {
      asked.push(after);
      const all = await home.deps.log.commitsAfter(address, after);
      return asked.length === 1 ? all.filter(({ number }) => number !== commitNo(2)) : all;
    },
  });
  const [mended, whole] = [await readRunFold({ log: torn }, run, firstCommit), await readRunFold(home.deps, run)];
  if (mended === undefined || whole === undefined) throw new Error('the run is gone');
  expect(storeFold(mended.state)).toEqual(storeFold(whole.state));
  expect(asked).toEqual([1, 1]);
});

test('a caller and the run that it called are read together', async () => {
  const home = createTestEnv();
  await home.publish(workflow('flow', 'a>k', { k: { calls: 'child' } }));
  await home.publish(workflow('child', 'x>y'));
  await home.begin('flow');
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
  const [call] = home.ports.jobs.takeDue();
  if (call?.kind !== 'child') throw new Error('nobody was called');
  const told = Promise.withResolvers<void>();
  const { asked, log } = slow(home, told.promise);
  const tending = reconcileChild({ ...home.worker, deps: { ...home.deps, log } }, call);
  await Promise.resolve();
  expect(asked).toEqual([`head of ${call.run.runId}`, `head of ${call.childRunId}`]);
  told.resolve();
  await tending;
  expect(await home.deps.log.head({ ...call.run, runId: call.childRunId })).toBeDefined();
});
