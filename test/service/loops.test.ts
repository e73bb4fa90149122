/** Loops through the service: the cost of ten thousand items, and the recovery of iterations after crashes and duplicates. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { foldBody } from '../../lib/codec/fold.ts';
import type { NodeState } from '../../lib/engine/log/node-state.ts';
import { storeFold } from '../../lib/engine/log/stored-fold.ts';
import type { RunState } from '../../lib/engine/log/fold.ts';
import { nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import { byRun } from '../../lib/service/execution/collect-results.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { failing, finished, createTestEnv, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const drawn = 'a>l l/loop>b l/done>d';
const stateOf = (state: RunState, id: string): NodeState | undefined =>
  state.nodes.get(nodeKey({ nodeId: nodeId(id), iteration: topLevel }));
const iterationCountsOf = (node: NodeState | undefined) =>
  node !== undefined && 'iterations' in node ? node.iterations : undefined;

/** Records the size of each commit, and the commit of each snapshot. */
const recordSizes = () => {
  const [commits, snapshots]: [number[], number[]] = [[], []];
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    log: overrideMethods(deps.log, {
      put: async (run, commit, expires) => {
        const result = await deps.log.put(run, commit, expires);
        if (result.kind === 'stored') commits.push(JSON.stringify(commit).length);
        return result;
      },
      saveSnapshot: async (run, snapshot, expires) => {
        snapshots.push(snapshot.asOf);
        return deps.log.saveSnapshot(run, snapshot, expires);
      },
    }),
  });
  return { wrap, commits, snapshots };
};
const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('ten thousand items', () => {
  it.each([10, 250])(
    'at a concurrency of %i take at most 0.2 commits each, of constant size, in a fold that stays small',
    async (concurrency) => {
      const { wrap, commits, snapshots } = recordSizes();
      const env = createTestEnv({ wrap });
      const items = 10_000;
      await env.publish(workflow('flow', drawn, { l: { items, concurrency } }));
      const run = await env.begin('flow');
      let largest = 0;
      for (let commits = 0; ; commits += 1) {
        const jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeMessages(), ...env.ports.jobs.takeDue()];
        for (const job of jobs) await env.take(job, { worker: env.worker });
        // As the queue delivers them: first a small batch, then what has accumulated, at most ten.
        const results = [...env.ports.jobs.takeResults()];
        if (jobs.length === 0 && results.length === 0) break;
        for (let size = commits % 2 === 0 ? 3 : 10; results.length > 0; size = 10) {
          const batch = byRun(results.splice(0, size).map((result) => ({ result, isRedelivered: false })));
          await env.collect(batch, env.worker);
        }
        if (commits % 50 === 0) {
          const { state } = await env.fold(run);
          largest = Math.max(largest, gzipSync(JSON.stringify(foldBody(storeFold(state)))).length);
        }
      }
      const { state } = await env.fold(run);
      expect(state.progress.status).toBe('completed');
      const loop = stateOf(state, 'l');
      expect(iterationCountsOf(loop)).toEqual({ items, started: items, ended: items, failed: 0 });
      expect(state.asOf).toBeLessThanOrEqual(items * 0.2);
      expect(largest).toBeGreaterThan(0);
      expect(largest).toBeLessThan(30_000);
      expect(env.attempts.filter((each) => each === 'b#1')).toHaveLength(items);
      const tenth = Math.floor(commits.length / 10);
      // Only the number of digits of an index grows.
      expect(meanOf(commits.slice(-tenth))).toBeLessThan(1.1 * meanOf(commits.slice(tenth, 2 * tenth)));
      // One snapshot each time the log has grown by half.
      expect(snapshots.length).toBeGreaterThan(3);
      expect(snapshots.length).toBeLessThanOrEqual(1 + Math.log(state.asOf / 64) / Math.log(1.5));
      for (const [at, asOf] of snapshots.slice(1).entries()) expect(asOf).toBeGreaterThanOrEqual(1.5 * (snapshots[at] ?? 0));
    },
    240_000,
  );

  it('in sequence stay in one worker, with one commit each', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', drawn, { l: { items: 300 } }));
    const run = await env.begin('flow');
    await env.settle();
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(state.asOf).toBeLessThanOrEqual(304);
    expect(env.ports.jobs.results).toEqual([]);
  });
});

describe('a response', () => {
  it('shows the nodes of open iterations, the loop with its counts, and no ended iterations', async () => {
    const env = createTestEnv({ answer: (node) => finished(node) });
    await env.publish(workflow('flow', drawn, { l: { items: 30, concurrency: 12 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    for (const job of env.ports.jobs.takeSent().slice(0, 3)) await env.take(job);
    await env.collect(byRun(env.ports.jobs.takeResults().map((result) => ({ result, isRedelivered: false }))));
    const found = await getRun(env.worker, run, true);
    if (found.kind !== 'found') throw new Error('the run is gone');
    const shown = found.run.nodes.map(({ node, iteration, state }) => `${node.id}@${iteration ?? ''} ${state?.status}`);
    expect(shown.filter((each) => each.startsWith('b@'))).toHaveLength(12);
    expect(shown).toContain('b@l[14] queued');
    expect(shown).not.toContain('b@l[0] completed');
    expect(shown).toContain('l@ waiting');
  });
});

describe('iterations', () => {
  it('a delay between items is a timer, not a sleep of the worker', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', drawn, { l: { items: 3, delayMs: 30_000 } }));
    const run = await env.begin('flow');
    const begun = env.ports.clock.now();
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
    expect(env.ports.clock.now()).toBe(after(begun, seconds(60)));
  });

  it('a wake-up of an earlier pause changes nothing and sends nothing', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', drawn, { l: { items: 3, delayMs: 30_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const [wakeUp] = env.ports.jobs.delayed.filter(({ job }) => job.kind === 'wake');
    if (wakeUp === undefined) throw new Error('the loop scheduled no wake-up');
    env.ports.clock.advance(seconds(30));
    for (const job of env.ports.jobs.takeDue()) await env.take(job);
    const { asOf } = (await env.fold(run)).state;
    const waiting = env.ports.jobs.delayed.length;
    await env.take(wakeUp.job);
    expect((await env.fold(run)).state.asOf).toBe(asOf);
    expect(env.ports.jobs.delayed).toHaveLength(waiting);
  });

  it('the sweep redispatches an iteration whose job was lost, and not the loop itself', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', drawn, { l: { items: 4, concurrency: 2 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: env.worker });
    env.ports.jobs.takeSent();
    env.ports.clock.advance(minutes(3));
    await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
    const resent = env.ports.jobs.sent.map((job) => `${job.nodeId}@${job.iteration}`);
    expect(resent.length).toBeGreaterThan(0);
    expect(env.ports.jobs.delayed.filter(({ job }) => job.kind === 'wake')).toEqual([]);
    expect(resent.every((each) => each.startsWith('b@l['))).toBe(true);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('a failed item ends the other iterations: their late results are ignored', async () => {
    const env = createTestEnv({ answer: (node) => (node === 'b' ? failing('invalid') : finished(node)) });
    await env.publish(workflow('flow', `${drawn} l/error>r`, { l: { items: 20, concurrency: 12 } }));
    const run = await env.begin('flow');
    await env.settle();
    const { state } = await env.fold(run);
    expect(stateOf(state, 'l')).toMatchObject({ status: 'failed', failure: { code: 'loop_item_failed' } });
    expect(stateOf(state, 'r')).toMatchObject({ status: 'completed' });
    expect(state.iterations.size).toBe(0);
  });

  it('large items and results are offloaded', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', drawn, { l: { items: 150, concurrency: 12, item: 'x'.repeat(2_000) } }));
    const run = await env.begin('flow');
    await env.settle();
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(JSON.stringify(foldBody(storeFold(state))).length).toBeLessThan(20_000);
  });
});
