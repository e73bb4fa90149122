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

const rerun = (env: TestEnv, sourceRun: RunAddress, more: Partial<RerunRequest> = {}) =>
  rerunRun(env.worker, { sourceRun, idempotencyKey: 'r1', bodyHash: 'h1', ...more });

async function begun(env: TestEnv, input: JsonValue = {}): Promise<RunAddress> {
  await env.publish(workflow('flow', 'a>b'));
  const answer = await env.start({ input });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
}

async function rerunAddress(env: TestEnv, of: RunAddress, more: Partial<RerunRequest> = {}): Promise<RunAddress> {
  const answer = await rerun(env, of, more);
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
}

async function storageOf(env: TestEnv, run: RunAddress): Promise<string> {
  const payload = (await env.fold(run)).state.contextWrites.get('input')?.at(-1)?.payload;
  return payload !== undefined && 'ref' in payload ? payload.ref.slice(0, payload.ref.indexOf(':')) : 'head';
}

async function inputOf(env: TestEnv, run: RunAddress): Promise<JsonValue> {
  const payload = (await env.fold(run)).state.contextWrites.get('input')?.at(-1)?.payload;
  if (payload === undefined) throw new Error('no input');
  return 'ref' in payload ? loadPayload(env.deps, run, payload.ref) : payload.value;
}

/** Values of three sizes: stored in the head, in an item of its own, and in the bucket. */
const noise = (length: number): string => Array.from({ length }, (_, index) => ((index * 7_919) % 1_297).toString(36)).join('');
const inputs: readonly (readonly [storage: string, input: JsonValue])[] = [
  ['head', { n: 1 }],
  ['item', { text: 'x'.repeat(5_000) }],
  ['blob', { text: noise(60_000) }],
];

describe('a rerun', () => {
  it.each(inputs)('has the source run’s input, stored in: %s', async (storage, input) => {
    const env = createTestEnv();
    const source = await begun(env, input);
    expect(await storageOf(env, source)).toBe(storage);
    const newRun = await rerunAddress(env, source);
    expect(newRun.runId).not.toBe(source.runId);
    expect([await storageOf(env, newRun), await inputOf(env, newRun)]).toEqual([storage, input]);
    await env.settle();
    expect((await env.fold(newRun)).state.progress.status).toBe('completed');
  });

  it('has no input if the request says null, as a start has', async () => {
    const env = createTestEnv();
    const newRun = await rerunAddress(env, await begun(env, { n: 1 }), { input: null });
    expect(await inputOf(env, newRun)).toEqual({});
  });

  it('names the source run in its first commit, and lists find it by the source run', async () => {
    const env = createTestEnv();
    const source = await begun(env);
    const newRun = await rerunAddress(env, source);
    const again = await rerunAddress(env, source, { idempotencyKey: 'r2' });
    const heads = await Promise.all([source, newRun].map((run) => env.ports.log.head(run)));
    expect(heads.map((head) => (head === undefined ? 'none' : rerunOf(head)))).toEqual([undefined, source.runId]);
    const { runs } = await listRuns(env.deps, scope, { rerunOf: source.runId }, { limit: 10 });
    expect(runs.map((run) => ('head' in run ? run.head.address.runId : '')).toSorted()).toEqual(
      [newRun.runId, again.runId].toSorted(),
    );
    expect((await listRuns(env.deps, scope, { rerunOf: newRun.runId }, { limit: 10 })).runs).toEqual([]);
  });

  it('does not change the source run, open or ended', async () => {
    const env = createTestEnv();
    const source = await begun(env);
    const { asOf } = (await env.fold(source)).state;
    await rerun(env, source);
    expect((await env.fold(source)).state.asOf).toBe(asOf);
    await cancelRun(env.worker, source);
    expect(await rerun(env, source, { idempotencyKey: 'r2' })).toMatchObject({ kind: 'started' });
    expect((await env.fold(source)).state.progress.status).toBe('cancelled');
  });

  it('uses the pinned version, or the requested one', async () => {
    const env = createTestEnv();
    const source = await begun(env);
    await env.publish({ ...workflow('flow', 'a>b b>d'), version: 2 });
    const [pinned, chosen] = [
      await rerunAddress(env, source),
      await rerunAddress(env, source, { idempotencyKey: 'r2', version: 2 }),
    ];
    expect(pinnedVersion((await env.fold(pinned)).head).version).toBe(1);
    expect(pinnedVersion((await env.fold(chosen)).head).version).toBe(2);
    expect(await rerun(env, source, { idempotencyKey: 'r3', version: 3 })).toEqual({
      kind: 'version_not_found',
      workflowName: 'flow',
    });
  });

  it('accepts another input, validated against the version’s arguments', async () => {
    const env = createTestEnv();
    const args = [{ name: 'n', type: 'number', required: true } as const];
    await env.publish({ ...workflow('flow', 'a>b'), options: { args } });
    const answer = await env.start({ input: { n: 1 } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const source = { ...scope, runId: answer.runId };
    expect(await inputOf(env, await rerunAddress(env, source, { input: { n: 2 } }))).toEqual({ n: 2 });
    expect(await rerun(env, source, { idempotencyKey: 'r2', input: { n: 'x' } })).toMatchObject({ kind: 'input_invalid' });
    // A request that is refused before any write releases its key.
    expect(await rerun(env, source, { idempotencyKey: 'r2', bodyHash: 'h2' })).toMatchObject({ kind: 'started' });
  });

  it('repeated with the same key is one run; another request with the key is a conflict', async () => {
    const env = createTestEnv();
    const source = await begun(env);
    const answers = await Promise.all(Array.from({ length: 50 }, () => rerun(env, source)));
    expect(new Set(answers.map((answer) => (answer.kind === 'started' ? answer.runId : answer.kind))).size).toBe(1);
    expect(await rerun(env, source, { bodyHash: 'h2' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('does not share its keys with starts', async () => {
    const env = createTestEnv();
    const source = await begun(env);
    expect(await rerun(env, source, { idempotencyKey: 'k1' })).toMatchObject({ kind: 'started', isReplay: false });
  });

  it('is refused if the run is not in this scope, or its workflow is archived', async () => {
    const env = createTestEnv();
    const source = await begun(env);
    const elsewhere = { ...source, environment: environment('live') };
    expect(await rerun(env, elsewhere)).toEqual({ kind: 'not_found' });
    expect(await rerun(env, { ...source, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({ kind: 'not_found' });
    await env.ports.workflows.archive(scope, workflow('flow', 'a>b').name, env.ports.clock.now());
    expect(await rerun(env, source)).toEqual({ kind: 'workflow_archived' });
  });
});

describe('from a chosen node', () => {
  const large = noise(60_000);
  /** `b` fails in its first run only. */
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
  const failed = async (env: TestEnv): Promise<RunAddress> => {
    await env.publish(workflow('flow', 'a>b b>d'));
    const run = await env.begin('flow');
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('failed');
    return run;
  };

  it('reuses the results before it, and runs the node and its successors', async () => {
    const env = failingOnce();
    const source = await failed(env);
    const newRun = await rerunAddress(env, source, { from: nodeId('b') });
    await env.settle();
    expect((await env.fold(newRun)).state.progress.status).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'b#1', 'b#1', 'd#1']);
    const { head } = await env.fold(newRun);
    expect([rerunOf(head), rerunFrom(head)]).toEqual([source.runId, 'b']);
  });

  it('copies a large result, because each copy expires with its run', async () => {
    const env = failingOnce();
    const newRun = await rerunAddress(env, await failed(env), { from: nodeId('b') });
    const reused = [...(await env.fold(newRun)).state.nodes.entries()]
      .map(([, node]) => node)
      .find(({ nodeId: id }) => id === 'a');
    const output = reused?.status === 'completed' ? reused.output : undefined;
    expect(output !== undefined && 'ref' in output ? output.ref.includes(newRun.runId) : output).toBe(true);
    expect(output !== undefined && 'ref' in output && (await loadPayload(env.deps, newRun, output.ref))).toBe(large);
  });

  it('refuses an unknown node', async () => {
    const env = failingOnce();
    const source = await failed(env);
    expect(await rerun(env, source, { from: nodeId('missing') })).toEqual({ kind: 'node_not_found', nodeId: 'missing' });
    expect(await rerun(env, source, { from: nodeId('b') })).toMatchObject({ kind: 'started' });
  });

  it('refuses a deployment for a graph run', async () => {
    const env = failingOnce();
    const source = await failed(env);
    expect(await rerun(env, source, { deploymentId: deploymentId('v1') })).toEqual({
      kind: 'not_applicable',
      field: 'deploymentId',
    });
  });
});
