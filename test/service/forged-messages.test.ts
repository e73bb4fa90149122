/**
 * Forged messages. The function that runs deployed code may send to the delay queue, so the worker trusts a message only as far as a
 * head confirms it, because code cannot write heads.
 */
import { describe, expect, test } from 'vitest';
import { firstAttempt, nodeId, nodeKey, topLevel, workflowName } from '../../lib/engine/ids.ts';
import { callerOf } from '../../lib/engine/log/lineage.ts';
import type { ChildJob, SignalJob } from '../../lib/ports/jobs.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import { commit, expiresAt, freshRun } from '../contract/samples.ts';
import { startCodeRun } from './code-test-env.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { functionCommand } from './scripted-programs.ts';

const callOf = async (env: TestEnv, run: ChildJob['run']) =>
  (await env.fold(run)).state.nodes.get(nodeKey({ nodeId: nodeId('k'), iteration: topLevel }));

const startWithChildRun = async () => {
  const env = createTestEnv();
  await env.publish(workflow('child', 's>b'));
  await env.publish(workflow('flow', 'k>b', { k: { calls: 'child' } }));
  const [run, other] = [await env.begin('flow'), freshRun(scope)];
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  for (const job of env.ports.jobs.takeDue()) await env.take(job);
  const node = await callOf(env, run);
  if (node?.status !== 'waiting' || node.for !== 'child') throw new Error('nothing was called');
  const called = { ...scope, runId: node.childRunId };
  const { head } = await env.fold(called);
  return { env, run, other, called, childRunId: node.childRunId, caller: callerOf(head) };
};

describe('a message about a child run', () => {
  test('that names another caller cancels nothing', async () => {
    const { env, other, called, childRunId, caller } = await startWithChildRun();
    if (caller === undefined) throw new Error('the run has no caller');
    const { nodeId: node, iteration, attempt } = caller;
    await env.take({ kind: 'child', run: other, nodeId: node, iteration, attempt, childRunId });
    expect((await env.fold(called)).state.progress.status).not.toBe('cancelled');
  });

  test('that names another node of its caller cancels nothing, and the correct one is accepted', async () => {
    const { env, run, called, childRunId } = await startWithChildRun();
    const of = { kind: 'child', run, iteration: topLevel, attempt: firstAttempt, childRunId } as const;
    await env.take({ ...of, nodeId: nodeId('b') });
    expect((await env.fold(called)).state.progress.status).not.toBe('cancelled');
    await env.take({ ...of, nodeId: nodeId('k') });
    expect((await env.fold(called)).state.progress.status).not.toBe('cancelled');
  });
});

describe('a signal by message', () => {
  const signalKey = { ...scope, name: 'approved', correlation: '17' };
  const of = (run: SignalJob['run']): SignalJob => ({
    kind: 'signal',
    run,
    key: 'k',
    name: 'approved',
    correlation: '17',
    payload: 'yes',
  });

  test('of a code run is stored, once, in the project of that run', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    await env.take(of(run));
    await env.take(of(run));
    expect((await env.ports.signals.read(signalKey)).signals).toHaveLength(1);
  });

  test('that no worker could process is stored by the dead-letter handler', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    await handleDeadLetter(env.worker, of(run));
    expect((await env.ports.signals.read(signalKey)).signals).toHaveLength(1);
  });

  test.each(['of a run that is none', 'of a run of a graph'])('%s is not stored', async (what) => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 's>b'));
    const run = what.endsWith('none') ? freshRun(scope) : await env.begin('flow');
    await env.take(of(run));
    expect((await env.ports.signals.read(signalKey)).signals).toEqual([]);
  });

  test('a message of code registers no waits of a graph run', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await expect(env.take({ kind: 'waits', run })).resolves.toBeUndefined();
    await expect(env.take({ kind: 'waits', run: freshRun(scope) })).resolves.toBeUndefined();
  });
});

test('a code run takes no concurrency slot, even if its log requests one', async () => {
  const { env, run } = await startCodeRun([[functionCommand('a')]]);
  const { asOf, nextEventId } = (await env.fold(run)).state;
  const forged = { type: 'SLOT_AWAITED', slots: 3 } as const;
  await env.ports.log.put(run, { ...commit(asOf + 1), firstEventId: nextEventId, events: [forged] }, expiresAt);
  const since = env.ports.clock.now();
  await env.take({ kind: 'slot', run, workflowName: workflowName('order'), since });
  expect(await env.ports.concurrencySlots.taken({ ...scope, workflowName: workflowName('order') })).toEqual([]);
});
