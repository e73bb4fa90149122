/**
 * Messages that nobody's log asked for. The function that runs the code of deployments may send to the delay queue, so the worker believes
 * of a message only what a head says that code cannot write.
 */
import { describe, expect, test } from 'vitest';
import { firstAttempt, nodeId, nodeKey, topLevel, workflowName } from '../../lib/engine/ids.ts';
import { callerOf } from '../../lib/engine/log/lineage.ts';
import type { ChildJob, SignalJob } from '../../lib/ports/jobs.ts';
import { failLostNode } from '../../lib/service/fail-lost-node.ts';
import { commit, expiresAt, freshRun } from '../contract/samples.ts';
import { begun } from './code-house.ts';
import { type House, house, scope, workflow } from './house.ts';
import { fn } from './staged-code.ts';

const callOf = async (home: House, run: ChildJob['run']) =>
  (await home.fold(run)).state.nodes.get(nodeKey({ nodeId: nodeId('k'), iteration: topLevel }));

const withCalled = async () => {
  const home = house();
  await home.publish(workflow('child', 's>b'));
  await home.publish(workflow('flow', 'k>b', { k: { calls: 'child' } }));
  const [run, other] = [await home.begin('flow'), freshRun(scope)];
  for (const job of home.world.jobs.takeSent()) await home.take(job);
  for (const job of home.world.jobs.takeDue()) await home.take(job);
  const node = await callOf(home, run);
  if (node?.status !== 'waiting' || node.for !== 'child') throw new Error('nothing was called');
  const called = { ...scope, runId: node.childRunId };
  const { head } = await home.fold(called);
  return { home, run, other, called, childRunId: node.childRunId, caller: callerOf(head) };
};

describe('a message about a called run', () => {
  test('that names another caller cancels nothing', async () => {
    const { home, other, called, childRunId, caller } = await withCalled();
    if (caller === undefined) throw new Error('nobody called it');
    const { nodeId: node, iteration, attempt } = caller;
    await home.take({ kind: 'child', run: other, nodeId: node, iteration, attempt, childRunId });
    expect((await home.fold(called)).state.progress.status).not.toBe('cancelled');
  });

  test('that names another node of its caller cancels nothing, and of its caller itself is heard', async () => {
    const { home, run, called, childRunId } = await withCalled();
    const of = { kind: 'child', run, iteration: topLevel, attempt: firstAttempt, childRunId } as const;
    await home.take({ ...of, nodeId: nodeId('b') });
    expect((await home.fold(called)).state.progress.status).not.toBe('cancelled');
    await home.take({ ...of, nodeId: nodeId('k') });
    expect((await home.fold(called)).state.progress.status).not.toBe('cancelled');
  });
});

describe('a signal by message', () => {
  const place = { ...scope, name: 'approved', correlation: '17' };
  const of = (run: SignalJob['run']): SignalJob => ({
    kind: 'signal',
    run,
    key: 'k',
    name: 'approved',
    correlation: '17',
    payload: 'yes',
  });

  test('of a run of code is kept, once, in the project of that run', async () => {
    const { home, run } = await begun([[fn('a')]]);
    await home.take(of(run));
    await home.take(of(run));
    expect((await home.world.signals.at(place)).signals).toHaveLength(1);
  });

  test('that nobody could work on is kept by whoever takes the dead letter', async () => {
    const { home, run } = await begun([[fn('a')]]);
    await failLostNode(home.worker, of(run));
    expect((await home.world.signals.at(place)).signals).toHaveLength(1);
  });

  test.each(['of a run that is none', 'of a run of a graph'])('%s is kept nowhere', async (what) => {
    const home = house();
    await home.publish(workflow('flow', 's>b'));
    const run = what.endsWith('none') ? freshRun(scope) : await home.begin('flow');
    await home.take(of(run));
    expect((await home.world.signals.at(place)).signals).toEqual([]);
  });

  test('waits of a graph are not entered by a message of code', async () => {
    const home = house();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await expect(home.take({ kind: 'waits', run })).resolves.toBeUndefined();
    await expect(home.take({ kind: 'waits', run: freshRun(scope) })).resolves.toBeUndefined();
  });
});

test('a run of code takes no slot of a workflow, whatever its log says', async () => {
  const { home, run } = await begun([[fn('a')]]);
  const { asOf, nextEventId } = (await home.fold(run)).state;
  const forged = { type: 'PLACE_AWAITED', places: 3 } as const;
  await home.world.log.put(run, { ...commit(asOf + 1), firstEventId: nextEventId, events: [forged] }, expiresAt);
  const since = home.world.clock.now();
  await home.take({ kind: 'place', run, workflowName: workflowName('order'), since });
  expect(await home.world.places.taken({ ...scope, workflowName: workflowName('order') })).toEqual([]);
});
