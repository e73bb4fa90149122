/** Messages that carry their run: when a worker begins with it, and when it reads the log instead. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type RunAddress, commitNo, firstCommit } from '../../lib/engine/ids.ts';
import { type DurationMs, durationMs } from '../../lib/engine/time.ts';
import type { NodeJob } from '../../lib/ports/jobs.ts';
import { carriedRunOf, maxCarriedAge, maxCarriedBytes } from '../../lib/service/run-log/carried-run.ts';
import { cancelCheckInterval } from '../../lib/service/execution/heartbeat-loop.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { handleJobsTogether } from '../../lib/service/execution/handle-jobs-together.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { fromFirstCommit } from '../../lib/service/run-log/read-run-fold.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { overrideMethods } from './override-methods.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';

const pure = { idempotent: true };

let reads: string[];
let env: TestEnv;
let run: RunAddress;

const firstJob = (): NodeJob => {
  const [job, ...others] = env.ports.jobs.takeSent();
  if (job === undefined || others.length > 0) throw new Error(`${others.length} more messages`);
  return job;
};

beforeEach(async () => {
  reads = [];
  const read =
    <Given extends readonly unknown[], Answer>(name: string, call: (...given: Given) => Answer) =>
    (...given: Given): Answer => {
      reads.push(name);
      return call(...given);
    };
  env = createTestEnv({
    wrap: (deps) => {
      const { log } = deps;
      const methods = {
        head: read('head', log.head.bind(log)),
        commitsAfter: read('log', log.commitsAfter.bind(log)),
        snapshot: read('snapshot', log.snapshot.bind(log)),
      };
      return { ...deps, log: overrideMethods(log, methods) };
    },
  });
  await env.publish(workflow('flow', 'a>b', { a: pure, b: pure }));
  await env.publish(workflow('effects', 'a>b'));
  run = await env.begin('flow');
  reads = [];
});

test('a worker that has the first message at once reads nothing of the run', async () => {
  await env.take(firstJob());
  expect([reads, env.attempts]).toEqual([[], ['a#1', 'b#1']]);
  expect((await env.fold(run)).state.progress.status).toBe('completed');
});

describe('the worker reads the log', () => {
  const later = (age: DurationMs): void => env.ports.clock.advance(age);

  test.for<readonly [string, () => Parameters<TestEnv['take']>[1], (job: NodeJob) => NodeJob]>([
    ['if the message is delivered again', () => ({ isRedelivered: true }), (job) => job],
    ['if the message came from the delay queue, to which code may send', () => ({ isDelayed: true }), (job) => job],
    ['if the message is old', () => (later(durationMs(maxCarriedAge + 1)), {}), (job) => job],
    ['if the job was sent again', () => ({}), (job) => ({ ...job, resend: 1 })],
    ['if the script was moved to the slow lane', () => ({}), (job) => ({ ...job, slowLane: 1 })],
    ['if the carried run is another one', () => ({}), (job) => ({ ...job, run: { ...job.run, runId: otherRunId() } })],
  ])('%s', async ([, delivered, change]) => {
    const job = change(firstJob());
    expect(job.carried?.creation.address).toEqual(run);
    await env.take(job, delivered());
    expect(reads).toContain('head');
  });

  test('if the run was cancelled long before, and then it executes nothing', async () => {
    const job = firstJob();
    await cancelRun(env.worker, run);
    later(durationMs(maxCarriedAge + 1));
    await env.take(job);
    expect(env.attempts).toEqual([]);
  });
});

const otherRunId = (): NodeJob['run']['runId'] => env.ports.ids.runId(env.ports.clock.now());

test('a node with side effects needs what was committed since the message, and nothing before it', async () => {
  env.ports.jobs.takeSent();
  await env.begin('effects');
  reads = [];
  await env.take(firstJob());
  expect([reads, env.attempts]).toEqual([['log'], ['a#1', 'b#1']]);
});

test('a run that was cancelled just before begins no node with side effects', async () => {
  env.ports.jobs.takeSent();
  const cancelled = await env.begin('effects');
  const job = firstJob();
  await cancelRun(env.worker, cancelled);
  await env.take(job);
  expect([env.attempts, (await env.fold(cancelled)).state.progress.status]).toEqual([[], 'cancelled']);
});

test('a run that was cancelled while its next message waited begins none in a worker that has it cached', async () => {
  env.ports.jobs.takeSent();
  const cancelled = await env.begin('effects');
  const worker = { ...env.worker, foldCache: new FoldCache() };
  await runNode(worker, firstJob(), { isRedelivered: false, mustEndAt: env.ports.clock.now() });
  const next = firstJob();
  await cancelRun(env.worker, cancelled);
  reads = [];
  await env.take(next, { worker });
  expect([env.attempts, reads]).toEqual([['a#1'], ['log']]);
});

test('a run that was cancelled just before keeps no result of its first node', async () => {
  const job = firstJob();
  await cancelRun(env.worker, run);
  await env.take(job);
  const { state } = await env.fold(run);
  expect(state.progress.status).toBe('cancelled');
  expect(state.asOf).toBe(commitNo(firstCommit + 1));
});

test('a run that was deleted just before stays deleted', async () => {
  const job = firstJob();
  await cancelRun(env.worker, run);
  const { head } = await env.fold(run);
  await env.ports.log.deleteRun(run, head.expiresAt);
  await env.take(job);
  expect(await env.ports.log.head(run)).toBeUndefined();
});

test('a worker that knows more of the run keeps what it knows', async () => {
  const job = firstJob();
  await env.take(job, { worker: env.worker });
  await env.take(job, { worker: env.worker });
  expect(env.attempts).toEqual(['a#1', 'b#1']);
});

test('jobs that shared a message which is delivered again carry no run any more', async () => {
  const job = firstJob();
  await handleJobsTogether(env.deps, { jobs: [job] }, { isRedelivered: true }, async () => {});
  const { carried: _carried, ...sent } = job;
  expect(env.ports.jobs.takeSent()).toEqual([sent]);
});

test('a run with several open nodes is not carried, because the end of one can end the others', async () => {
  await env.publish(workflow('wide', 'a>z b>z'));
  await env.begin('wide');
  expect(env.ports.jobs.takeSent().map(({ nodeId, carried }) => [nodeId, carried !== undefined])).toEqual([
    ['a', true],
    ['a', false],
    ['b', false],
  ]);
});

test('a large run is not carried', async () => {
  const { head } = await env.fold(run);
  const ofSize = (length: number): boolean =>
    carriedRunOf(fromFirstCommit({ ...head, bodyHash: 'x'.repeat(length) })) !== undefined;
  expect([ofSize(maxCarriedBytes / 2), ofSize(maxCarriedBytes)]).toEqual([true, false]);
});

test('a request that finds its head written carries nothing, because another may have sent the jobs before', async () => {
  const other = createTestEnv({
    wrap: (deps) => {
      const { log } = deps;
      const create = async (creation: Parameters<typeof log.create>[0]) => {
        await log.create(creation);
        return log.create(creation);
      };
      return { ...deps, log: overrideMethods(log, { create }) };
    },
  });
  await other.publish(workflow('flow', 'a>b'));
  await other.begin('flow');
  expect(other.ports.jobs.takeSent().map(({ nodeId, carried }) => [nodeId, carried])).toEqual([['a', undefined]]);
});

describe('a run that a signal wakes', () => {
  const waiting = async (): Promise<RunAddress> => {
    await env.publish(workflow('waits', 's>b', { s: { name: 'paid', correlation: 'one' }, b: pure }));
    const waits = await env.begin('waits');
    await env.settle();
    reads = [];
    return waits;
  };
  const send = () => sendSignal(env.worker, scope, { name: 'paid', correlation: 'one', payload: 1, bodyHash: 'h' });

  test('is carried with its log, so the worker reads nothing', async () => {
    const waits = await waiting();
    await send();
    expect(reads.toSorted()).toEqual(['head', 'log', 'snapshot']);
    const job = env.ports.jobs.takeSent().find(({ nodeId }) => nodeId === 'b');
    expect(job?.carried?.commits.at(-1)?.number).toBe(job?.commit);
    reads = [];
    if (job !== undefined) await env.take(job);
    expect(reads).toEqual([]);
    expect((await env.fold(waits)).state.progress.status).toBe('completed');
  });

  test('is read if its log goes further than the message says', async () => {
    await waiting();
    await send();
    const job = env.ports.jobs.takeSent().find(({ nodeId }) => nodeId === 'b');
    if (job?.carried === undefined) throw new Error('no run is carried');
    await env.take({ ...job, carried: { ...job.carried, commits: job.carried.commits.slice(0, -1) } });
    expect(reads).toContain('head');
  });
});

test('a worker relies on a message for as long as it takes to notice a cancel', () => {
  expect(maxCarriedAge).toBe(cancelCheckInterval);
});
