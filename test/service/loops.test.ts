/** Loops through the service: what ten thousand items cost, and what becomes of passes when workers die, stop or are asked again. */
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
const passesOf = (node: NodeState | undefined) => (node !== undefined && 'iterations' in node ? node.iterations : undefined);

/** Writes down how large each commit is, and of which commit each snapshot. */
const weighed = () => {
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
    'at a concurrency of %i take at most 0.2 commits each, none dearer than those before it, in a fold that stays small',
    async (concurrency) => {
      const { wrap, commits, snapshots } = weighed();
      const home = createTestEnv({ wrap });
      const items = 10_000;
      await home.publish(workflow('flow', drawn, { l: { items, concurrency } }));
      const run = await home.begin('flow');
      let largest = 0;
      for (let commits = 0; ; commits += 1) {
        const jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeMessages(), ...home.ports.jobs.takeDue()];
        for (const job of jobs) await home.take(job, { worker: home.worker });
        // As the queue gives them: the first that is there alone, what gathered behind it next, and ten at the most.
        const results = [...home.ports.jobs.takeResults()];
        if (jobs.length === 0 && results.length === 0) break;
        for (let size = commits % 2 === 0 ? 3 : 10; results.length > 0; size = 10) {
          const batch = byRun(results.splice(0, size).map((result) => ({ result, isRedelivered: false })));
          await home.collect(batch, home.worker);
        }
        if (commits % 50 === 0) {
          const { state } = await home.fold(run);
          largest = Math.max(largest, gzipSync(JSON.stringify(foldBody(storeFold(state)))).length);
        }
      }
      const { state } = await home.fold(run);
      expect(state.progress.status).toBe('completed');
      const loop = stateOf(state, 'l');
      expect(passesOf(loop)).toEqual({ items, started: items, ended: items, failed: 0 });
      expect(state.asOf).toBeLessThanOrEqual(items * 0.2);
      expect(largest).toBeGreaterThan(0);
      expect(largest).toBeLessThan(30_000);
      expect(home.attempts.filter((each) => each === 'b#1')).toHaveLength(items);
      const tenth = Math.floor(commits.length / 10);
      // The digits of an index grow, and nothing else does.
      expect(meanOf(commits.slice(-tenth))).toBeLessThan(1.1 * meanOf(commits.slice(tenth, 2 * tenth)));
      // Each when the log has grown by half since the last: as many as there are such steps from the first, and no more.
      expect(snapshots.length).toBeGreaterThan(3);
      expect(snapshots.length).toBeLessThanOrEqual(1 + Math.log(state.asOf / 64) / Math.log(1.5));
      for (const [at, asOf] of snapshots.slice(1).entries()) expect(asOf).toBeGreaterThanOrEqual(1.5 * (snapshots[at] ?? 0));
    },
    240_000,
  );

  it('one after the other stay in one worker, a commit each', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', drawn, { l: { items: 300 } }));
    const run = await home.begin('flow');
    await home.settle();
    const { state } = await home.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(state.asOf).toBeLessThanOrEqual(304);
    expect(home.ports.jobs.results).toEqual([]);
  });
});

describe('what an answer shows', () => {
  it('the nodes of passes under way with their pass, the loop with its counts, and nothing of passes that have ended', async () => {
    const home = createTestEnv({ answer: (node) => finished(node) });
    await home.publish(workflow('flow', drawn, { l: { items: 30, concurrency: 12 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    for (const job of home.ports.jobs.takeSent().slice(0, 3)) await home.take(job);
    await home.collect(byRun(home.ports.jobs.takeResults().map((result) => ({ result, isRedelivered: false }))));
    const found = await getRun(home.worker, run, true);
    if (found.kind !== 'found') throw new Error('the run is gone');
    const shown = found.run.nodes.map(({ node, iteration, state }) => `${node.id}@${iteration ?? ''} ${state?.status}`);
    expect(shown.filter((each) => each.startsWith('b@'))).toHaveLength(12);
    expect(shown).toContain('b@l[14] queued');
    expect(shown).not.toContain('b@l[0] completed');
    expect(shown).toContain('l@ waiting');
  });
});

describe('passes and their workers', () => {
  it('a delay between items is a timer, and not a sleep of the worker', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', drawn, { l: { items: 3, delayMs: 30_000 } }));
    const run = await home.begin('flow');
    const begun = home.ports.clock.now();
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
    expect(home.ports.clock.now()).toBe(after(begun, seconds(60)));
  });

  it('a wake of an earlier pause changes nothing and asks for nothing', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', drawn, { l: { items: 3, delayMs: 30_000 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const [alarm] = home.ports.jobs.delayed.filter(({ job }) => job.kind === 'wake');
    if (alarm === undefined) throw new Error('the loop set no alarm');
    home.ports.clock.advance(seconds(30));
    for (const job of home.ports.jobs.takeDue()) await home.take(job);
    const { asOf } = (await home.fold(run)).state;
    const waiting = home.ports.jobs.delayed.length;
    await home.take(alarm.job);
    expect((await home.fold(run)).state.asOf).toBe(asOf);
    expect(home.ports.jobs.delayed).toHaveLength(waiting);
  });

  it('a pass whose job was lost is found by the sweep, which leaves the loop itself alone', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', drawn, { l: { items: 4, concurrency: 2 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job, { worker: home.worker });
    home.ports.jobs.takeSent();
    home.ports.clock.advance(minutes(3));
    await sweepRuns(home.worker, after(home.ports.clock.now(), minutes(1)));
    const resent = home.ports.jobs.sent.map((job) => `${job.nodeId}@${job.iteration}`);
    expect(resent.length).toBeGreaterThan(0);
    expect(home.ports.jobs.delayed.filter(({ job }) => job.kind === 'wake')).toEqual([]);
    expect(resent.every((each) => each.startsWith('b@l['))).toBe(true);
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('a failing item ends the passes beside it: their late results are not heard', async () => {
    const home = createTestEnv({ answer: (node) => (node === 'b' ? failing('invalid') : finished(node)) });
    await home.publish(workflow('flow', `${drawn} l/error>r`, { l: { items: 20, concurrency: 12 } }));
    const run = await home.begin('flow');
    await home.settle();
    const { state } = await home.fold(run);
    expect(stateOf(state, 'l')).toMatchObject({ status: 'failed', failure: { code: 'loop_item_failed' } });
    expect(stateOf(state, 'r')).toMatchObject({ status: 'completed' });
    expect(state.iterations.size).toBe(0);
  });

  it('items and results that are large are stored apart', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', drawn, { l: { items: 150, concurrency: 12, item: 'x'.repeat(2_000) } }));
    const run = await home.begin('flow');
    await home.settle();
    const { state } = await home.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(JSON.stringify(foldBody(storeFold(state))).length).toBeLessThan(20_000);
  });
});
