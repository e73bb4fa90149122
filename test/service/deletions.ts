/** What tests of deletions share: a workflow with runs that left something everywhere, sweeps, and what is left of a run. */
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import { type RunAddress, firstCommit, keyId, nodeId, nodeKey, topLevel, workflowName } from '../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import { type Continued, continueDeletions } from '../../lib/service/continue-deletions.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { deleteWorkflow } from '../../lib/service/delete-workflow.ts';
import { createWorkflow, publishVersion } from '../../lib/service/publish-workflow.ts';
import { type House, finished, house, scope, workflow } from './house.ts';
import { type blobsOf, drawn, large, tracesOf } from './tried.ts';

export const flow = workflowName('flow');
const place = { name: 'paid', correlation: 'order-7' };
export const asker = keyId('asker123');

const inspect: InspectNode = ({ id, type }) => ({
  findings: [],
  facts: {
    policy: { joinMode: 'all', onParentFailure: 'skip' },
    handles: type === 'end' ? [] : ['output', 'error'],
    isTrigger: id.startsWith('a'),
  },
});

export const newHome = (): House => house({ answer: (node) => finished(node === 'b' ? large : node) });

/** `flow` waits for a signal, naps, calls the workflow `child` and has a large output. */
export async function publishRich(home: House): Promise<void> {
  await home.publish(workflow('child', 'x>y y>z', { z: { ms: 3_600_000 } }));
  const configs = { s: place, z: { ms: 3_600_000 }, k: { calls: 'child' } };
  await home.publish(workflow('flow', 'a>b b>s s>d a>z z>f a>g a>k', configs));
}

/** A run of `flow` that has left something everywhere. */
export async function richRun(home: House, idempotencyKey = 'rich'): Promise<RunAddress> {
  const answer = await home.start({ idempotencyKey, input: { text: 'y'.repeat(5_000) } });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  const run = { ...scope, runId: answer.runId };
  for (let round = 0; round < 2; round += 1)
    for (const job of [...home.world.jobs.takeSent(), ...home.world.jobs.takeDue()]) await home.take(job);
  await leaveMore(home, run);
  return run;
}

/** As a worker does that is still at work. */
export async function leaveMore({ world }: House, run: RunAddress): Promise<void> {
  const expiresAt = after(world.clock.now(), minutes(60));
  const { runId } = run;
  await world.log.beat(
    run,
    { node: nodeKey({ nodeId: nodeId('b'), iteration: topLevel }), at: world.clock.now(), resends: 0 },
    expiresAt,
  );
  await world.log.saveSnapshot(run, { asOf: firstCommit, schema: 0, state: null }, expiresAt);
  await world.log.attach(run, 'input', 'again', { expiresAt, kind: 'graph' });
  await world.blobs.put(run, `${runId}/stray`, 'again', expiresAt);
}

/** Every trace of the run; due entries hold its address alone, and expire. */
export async function left(home: House, run: RunAddress, blobs: Awaited<ReturnType<typeof blobsOf>> = []) {
  const traces = await tracesOf(home, run, { blobs: [...blobs, `blob:${run.runId}/stray`], place });
  const elsewhere = ['list', 'waiting', 'retrying', 'failed', 'cancelled', 'reservation'];
  return [...new Set(traces.filter((trace) => !trace.startsWith('due') && !elsewhere.includes(trace)))];
}

export const sweep = (home: House, deps: Deps = home.deps): Promise<Continued> =>
  continueDeletions({ ...home.worker, deps, by: 'sweep' }, after(home.world.clock.now(), seconds(45)));

/** Sweeps until nothing is left to be done, however long that has to wait. */
export async function sweepToTheEnd(home: House): Promise<void> {
  for (let round = 0; (await home.world.deletions.all()).length > 0; round += 1) {
    if (round > 20) throw new Error('the deletion does not end');
    await sweep(home);
    home.world.clock.set(after(home.world.clock.now(), minutes(21)));
  }
}

export const request = (home: House, deps: Deps = home.deps) => deleteWorkflow(deps, scope, flow, asker);
export const create = (home: House) => createWorkflow(home.deps, scope, drawn('flow', 'a>b'), inspect);
export const publish = (home: House) => publishVersion(home.deps, scope, drawn('flow', 'a>b'), inspect);

export const deletedEntries = ({ world }: House) =>
  [...world.audit.entries.values()].filter(({ action }) => action === 'workflows.deleted');
