import { describe, expect, it } from 'vitest';
import { type RunAddress, deploymentId, environment, nodeId, runId } from '../../../lib/engine/ids.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { pinnedVersion } from '../../../lib/engine/log/head.ts';
import { rerunFrom, rerunOf } from '../../../lib/engine/log/lineage.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import { listRuns } from '../../../lib/service/runs/list-runs.ts';
import { loadPayload } from '../../../lib/service/run-log/payloads.ts';
import { type RerunRequest, rerunRun } from '../../../lib/service/runs/rerun-run.ts';
import { type TestEnv, failing, finished, createTestEnv, scope, workflow } from '../test-env.ts';

const rerun = (home: TestEnv, sourceRun: RunAddress, more: Partial<RerunRequest> = {}) =>
  rerunRun(home.worker, { sourceRun, idempotencyKey: 'r1', bodyHash: 'h1', ...more });

async function begun(home: TestEnv, input: JsonValue = {}): Promise<RunAddress> {
  await home.publish(workflow('flow', 'a>b'));
  const answer = await home.start({ input });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
}

async function rerunAddress(home: TestEnv, of: RunAddress, more: Partial<RerunRequest> = {}): Promise<RunAddress> {
  const answer = await rerun(home, of, more);
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
}

async function placeOf(home: TestEnv, run: RunAddress): Promise<string> {
  const payload = (await home.fold(run)).state.contextWrites.get('input')?.at(-1)?.payload;
  return payload !== undefined && 'ref' in payload ? payload.ref.slice(0, payload.ref.indexOf(':')) : 'head';
}

async function inputOf(home: TestEnv, run: RunAddress): Promise<JsonValue> {
  const payload = (await home.fold(run)).state.contextWrites.get('input')?.at(-1)?.payload;
  if (payload === undefined) throw new Error('no input');
  return 'ref' in payload ? loadPayload(home.deps, run, payload.ref) : payload.value;
}

/** Values of three sizes: in the head, an item of its own, and an object of the bucket. */
const noise = (length: number): string => Array.from({ length }, (_, index) => ((index * 7_919) % 1_297).toString(36)).join('');
const inputs: readonly (readonly [place: string, input: JsonValue])[] = [
  ['head', { n: 1 }],
  ['item', { text: 'x'.repeat(5_000) }],
  ['blob', { text: noise(60_000) }],
];

describe('running a run again', () => {
  it.each(inputs)('gives a new run its input, wherever that lies: %s', async (place, input) => {
    const home = createTestEnv();
    const old = await begun(home, input);
    expect(await placeOf(home, old)).toBe(place);
    const anew = await rerunAddress(home, old);
    expect(anew.runId).not.toBe(old.runId);
    expect([await placeOf(home, anew), await inputOf(home, anew)]).toEqual([place, input]);
    await home.settle();
    expect((await home.fold(anew)).state.progress.status).toBe('completed');
  });

  it('names the old run in its first commit, and is found by it', async () => {
    const home = createTestEnv();
    const old = await begun(home);
    const anew = await rerunAddress(home, old);
    const again = await rerunAddress(home, old, { idempotencyKey: 'r2' });
    const heads = await Promise.all([old, anew].map((run) => home.ports.log.head(run)));
    expect(heads.map((head) => (head === undefined ? 'none' : rerunOf(head)))).toEqual([undefined, old.runId]);
    const { runs } = await listRuns(home.deps, scope, { rerunOf: old.runId }, { limit: 10 });
    expect(runs.map(({ head }) => head.address.runId).toSorted()).toEqual([anew.runId, again.runId].toSorted());
    expect((await listRuns(home.deps, scope, { rerunOf: anew.runId }, { limit: 10 })).runs).toEqual([]);
  });

  it('leaves the old one as it was, open or ended', async () => {
    const home = createTestEnv();
    const old = await begun(home);
    const { asOf } = (await home.fold(old)).state;
    await rerun(home, old);
    expect((await home.fold(old)).state.asOf).toBe(asOf);
    await cancelRun(home.worker, old);
    expect(await rerun(home, old, { idempotencyKey: 'r2' })).toMatchObject({ kind: 'started' });
    expect((await home.fold(old)).state.progress.status).toBe('cancelled');
  });

  it('stays on the pinned version, or takes the one that is asked for', async () => {
    const home = createTestEnv();
    const old = await begun(home);
    await home.publish({ ...workflow('flow', 'a>b b>d'), version: 2 });
    const [pinned, chosen] = [await rerunAddress(home, old), await rerunAddress(home, old, { idempotencyKey: 'r2', version: 2 })];
    expect(pinnedVersion((await home.fold(pinned)).head).version).toBe(1);
    expect(pinnedVersion((await home.fold(chosen)).head).version).toBe(2);
    expect(await rerun(home, old, { idempotencyKey: 'r3', version: 3 })).toEqual({
      kind: 'version_not_found',
      workflowName: 'flow',
    });
  });

  it('takes an edited input, held against what the version declares', async () => {
    const home = createTestEnv();
    const args = [{ name: 'n', type: 'number', required: true } as const];
    await home.publish({ ...workflow('flow', 'a>b'), options: { args } });
    const answer = await home.start({ input: { n: 1 } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const old = { ...scope, runId: answer.runId };
    expect(await inputOf(home, await rerunAddress(home, old, { input: { n: 2 } }))).toEqual({ n: 2 });
    expect(await rerun(home, old, { idempotencyKey: 'r2', input: { n: 'x' } })).toMatchObject({ kind: 'input_invalid' });
    // What was refused before anything was tried frees its key.
    expect(await rerun(home, old, { idempotencyKey: 'r2', bodyHash: 'h2' })).toMatchObject({ kind: 'started' });
  });

  it('with the same key is one run, and with another request a conflict', async () => {
    const home = createTestEnv();
    const old = await begun(home);
    const answers = await Promise.all(Array.from({ length: 50 }, () => rerun(home, old)));
    expect(new Set(answers.map((answer) => (answer.kind === 'started' ? answer.runId : answer.kind))).size).toBe(1);
    expect(await rerun(home, old, { bodyHash: 'h2' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('does not share its keys with starts', async () => {
    const home = createTestEnv();
    const old = await begun(home);
    expect(await rerun(home, old, { idempotencyKey: 'k1' })).toMatchObject({ kind: 'started', isReplay: false });
  });

  it('is refused where there is no such run in this scope, or its workflow is archived', async () => {
    const home = createTestEnv();
    const old = await begun(home);
    const elsewhere = { ...old, environment: environment('live') };
    expect(await rerun(home, elsewhere)).toEqual({ kind: 'not_found' });
    expect(await rerun(home, { ...old, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({ kind: 'not_found' });
    await home.ports.workflows.archive(scope, workflow('flow', 'a>b').name, home.ports.clock.now());
    expect(await rerun(home, old)).toEqual({ kind: 'workflow_archived' });
  });
});

describe('from a chosen node', () => {
  const large = noise(60_000);
  /** `b` fails the first time that it is run, and never again. */
  const failingOnce = (): TestEnv => {
    let hasFailed = false;
    return createTestEnv({
      answer: (node) => {
        if (node !== 'b' || hasFailed) return finished(node === 'a' ? large : node);
        hasFailed = true;
        return failing('invalid');
      },
    });
  };
  const failed = async (home: TestEnv): Promise<RunAddress> => {
    await home.publish(workflow('flow', 'a>b b>d'));
    const run = await home.begin('flow');
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('failed');
    return run;
  };

  it('keeps what came before it, and runs it and what follows', async () => {
    const home = failingOnce();
    const old = await failed(home);
    const anew = await rerunAddress(home, old, { from: nodeId('b') });
    await home.settle();
    expect((await home.fold(anew)).state.progress.status).toBe('completed');
    expect(home.attempts).toEqual(['a#1', 'b#1', 'b#1', 'd#1']);
    const { head } = await home.fold(anew);
    expect([rerunOf(head), rerunFrom(head)]).toEqual([old.runId, 'b']);
  });

  it('has a copy of its own of a large result: each expires with its run', async () => {
    const home = failingOnce();
    const anew = await rerunAddress(home, await failed(home), { from: nodeId('b') });
    const kept = [...(await home.fold(anew)).state.nodes.entries()].map(([, node]) => node).find(({ nodeId: id }) => id === 'a');
    const output = kept?.status === 'completed' ? kept.output : undefined;
    expect(output !== undefined && 'ref' in output ? output.ref.includes(anew.runId) : output).toBe(true);
    expect(output !== undefined && 'ref' in output && (await loadPayload(home.deps, anew, output.ref))).toBe(large);
  });

  it('refuses a node that there is none of', async () => {
    const home = failingOnce();
    const old = await failed(home);
    expect(await rerun(home, old, { from: nodeId('nobody') })).toEqual({ kind: 'node_not_found', nodeId: 'nobody' });
    expect(await rerun(home, old, { from: nodeId('b') })).toMatchObject({ kind: 'started' });
  });

  it('is of graphs: a deployment is not for them', async () => {
    const home = failingOnce();
    const old = await failed(home);
    expect(await rerun(home, old, { deploymentId: deploymentId('v1') })).toEqual({
      kind: 'not_applicable',
      field: 'deploymentId',
    });
  });
});
