/** Reads of a run: which reads are parallel, and that no fold passes a gap. */
import { expect, test } from 'vitest';
import { type RunAddress, commitNo, firstCommit } from '../../../lib/engine/ids.ts';
import { storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { readRunFold } from '../../../lib/service/run-log/read-run-fold.ts';
import { reconcileChild } from '../../../lib/service/execution/reconcile-child.ts';
import { type TestEnv, createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

async function shortRun(): Promise<{ readonly env: TestEnv; readonly run: RunAddress }> {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>b b>c c>d d>e'));
  const run = await env.begin('flow');
  await env.settle();
  return { env, run };
}

/** A log that records the order of its reads, and returns no head before `isReported`. */
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

test('a log that needs no snapshot is read in parallel with its head', async () => {
  const { env, run } = await shortRun();
  const told = Promise.withResolvers<void>();
  const { asked, log } = slow(env, told.promise);
  const reading = readRunFold({ log }, run, firstCommit);
  await Promise.resolve();
  expect(asked).toEqual([`head of ${run.runId}`, 'commits above 1']);
  told.resolve();
  expect((await reading)?.state.progress.status).toBe('completed');
  expect(asked).toHaveLength(2);
});

test('if that result has a gap, the rest is read again', async () => {
  const { env, run } = await shortRun();
  const asked: number[] = [];
  const logWithGap = overrideMethods(env.deps.log, {
    commitsAfter: async (address, after) => {
      asked.push(after);
      const all = await env.deps.log.commitsAfter(address, after);
      return asked.length === 1 ? all.filter(({ number }) => number !== commitNo(2)) : all;
    },
  });
  const [reread, whole] = [await readRunFold({ log: logWithGap }, run, firstCommit), await readRunFold(env.deps, run)];
  if (reread === undefined || whole === undefined) throw new Error('the run is gone');
  expect(storeFold(reread.state)).toEqual(storeFold(whole.state));
  expect(asked).toEqual([1, 1]);
});

test('a caller and its child run are read in parallel, each with the beginning of its log', async () => {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>k', { k: { calls: 'child' } }));
  await env.publish(workflow('child', 'x>y'));
  await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  const [call] = env.ports.jobs.takeDue();
  if (call?.kind !== 'child') throw new Error('there is no child run');
  const told = Promise.withResolvers<void>();
  const { asked, log } = slow(env, told.promise);
  const tending = reconcileChild({ ...env.worker, deps: { ...env.deps, log } }, call);
  await Promise.resolve();
  expect(asked).toEqual([`head of ${call.run.runId}`, 'commits above 1', `head of ${call.childRunId}`, 'commits above 1']);
  told.resolve();
  await tending;
  expect(await env.deps.log.head({ ...call.run, runId: call.childRunId })).toBeDefined();
});
