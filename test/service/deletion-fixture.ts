/** Fixtures for the tests of deletions: a workflow whose runs left data in every store, sweeps, and the remaining records of a run. */
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import { type RunAddress, firstCommit, keyId, nodeId, nodeKey, topLevel, workflowName } from '../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import { type ContinueResult, continueDeletions } from '../../lib/service/deletions/continue-deletions.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { deleteWorkflow } from '../../lib/service/deletions/delete-workflow.ts';
import { createWorkflow, publishVersion } from '../../lib/service/definitions/publish-workflow.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from './test-env.ts';
import { type blobsOf, definitionOf, largeText, recordsOf } from './test-run-fixture.ts';

export const deletedWorkflow = workflowName('flow');
const signalKey = { name: 'paid', correlation: 'order-7' };
export const requester = keyId('requester1');

const inspect: InspectNode = ({ id, type }) => ({
  findings: [],
  facts: {
    policy: { joinMode: 'all', onParentFailure: 'skip' },
    handles: type === 'end' ? [] : ['output', 'error'],
    isTrigger: id.startsWith('a'),
  },
});

export const createDeletionEnv = (): TestEnv => createTestEnv({ answer: (node) => finished(node === 'b' ? largeText : node) });

/** `flow` waits for a signal, naps, calls the workflow `child` and has a large output. */
export async function publishWorkflowWithData(env: TestEnv): Promise<void> {
  await env.publish(workflow('child', 'x>y y>z', { z: { ms: 3_600_000 } }));
  const configs = { s: signalKey, z: { ms: 3_600_000 }, k: { calls: 'child' } };
  await env.publish(workflow('flow', 'a>b b>s s>d a>z z>f a>g a>k', configs));
}

/** A run of `flow` that has left data in every store. */
export async function createRunWithData(env: TestEnv, idempotencyKey = 'rich'): Promise<RunAddress> {
  const answer = await env.start({ idempotencyKey, input: { text: 'y'.repeat(5_000) } });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  const run = { ...scope, runId: answer.runId };
  for (let round = 0; round < 2; round += 1)
    for (const job of [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]) await env.take(job);
  await addMoreData(env, run);
  return run;
}

/** Writes what a worker that is still running writes. */
export async function addMoreData({ ports }: TestEnv, run: RunAddress): Promise<void> {
  const expiresAt = after(ports.clock.now(), minutes(60));
  const { runId } = run;
  await ports.log.heartbeat(
    run,
    { node: nodeKey({ nodeId: nodeId('b'), iteration: topLevel }), at: ports.clock.now(), resends: 0 },
    expiresAt,
  );
  await ports.log.saveSnapshot(run, { asOf: firstCommit, schema: 0, state: null }, expiresAt);
  await ports.log.attach(run, 'input', 'again', { expiresAt, kind: 'graph' });
  await ports.blobs.put(run, `${runId}/stray`, 'again', expiresAt);
}

/** All records of the run; due entries contain only its address, and expire. */
export async function remainingRecords(env: TestEnv, run: RunAddress, blobs: Awaited<ReturnType<typeof blobsOf>> = []) {
  const traces = await recordsOf(env, run, { blobs: [...blobs, `blob:${run.runId}/stray`], signalKey });
  const elsewhere = ['list', 'waiting', 'retrying', 'failed', 'cancelled', 'reservation'];
  return [...new Set(traces.filter((trace) => !trace.startsWith('due') && !elsewhere.includes(trace)))];
}

export const sweep = (env: TestEnv, deps: Deps = env.deps): Promise<ContinueResult> =>
  continueDeletions({ ...env.worker, deps, by: 'sweep' }, after(env.ports.clock.now(), seconds(45)));

/** Sweeps until no deletion is left, and advances the clock as far as needed. */
export async function sweepUntilDone(env: TestEnv): Promise<void> {
  for (let round = 0; (await env.ports.deletions.all()).length > 0; round += 1) {
    if (round > 20) throw new Error('the deletion does not end');
    await sweep(env);
    env.ports.clock.set(after(env.ports.clock.now(), minutes(21)));
  }
}

export const requestDeletion = (env: TestEnv, deps: Deps = env.deps) => deleteWorkflow(deps, scope, deletedWorkflow, requester);
export const create = (env: TestEnv) => createWorkflow(env.deps, scope, definitionOf('flow', 'a>b'), inspect);
export const publish = (env: TestEnv) => publishVersion(env.deps, scope, definitionOf('flow', 'a>b'), inspect);

export const deletedEntries = ({ ports }: TestEnv) =>
  [...ports.audit.entries.values()].filter(({ action }) => action === 'workflows.deleted');
