import { describe, expect, it } from 'vitest';
import { byRun } from '../../../lib/service/execution/collect-results.ts';
import { createTestEnv, workflow } from '../test-env.ts';

const wide = (branches: number): string => Array.from({ length: branches }, (_, index) => `a>b${index} b${index}>d`).join(' ');

const received = (results: Parameters<typeof byRun>[0][number]['result'][], isRedelivered = false) =>
  byRun(results.map((result) => ({ result, isRedelivered })));

describe('a wide join', () => {
  it('of a hundred branches takes at most 25 commits, and its join fires once', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', wide(100)));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job, { worker: home.worker });
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const results = [...home.ports.jobs.takeResults()];
    expect(results).toHaveLength(100);
    while (results.length > 0) await home.collect(received(results.splice(0, 10)));
    await home.settle();
    const { state } = await home.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(state.asOf).toBeLessThanOrEqual(25);
    expect(home.attempts.filter((each) => each === 'd#1')).toHaveLength(1);
  });

  it('of eight branches goes without the collector', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', wide(8)));
    const run = await home.begin('flow');
    await home.settle();
    expect(home.ports.jobs.results).toEqual([]);
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('takes a result that comes twice once', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', wide(12)));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const results = [...home.ports.jobs.takeResults()];
    await home.collect(received(results.slice(0, 6)));
    const { asOf } = (await home.fold(run)).state;
    await home.collect(received(results.slice(0, 6)));
    expect((await home.fold(run)).state.asOf).toBe(asOf);
    await home.collect(received(results));
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('parts a batch that mixes runs', async () => {
    const home = createTestEnv();
    await home.publish(workflow('one', wide(10)));
    await home.publish(workflow('two', wide(10)));
    const runs = [await home.begin('one'), await home.begin('two')];
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const results = [...home.ports.jobs.takeResults()];
    expect(received(results).map((each) => each.results.length)).toEqual([10, 10]);
    await home.collect(received(results));
    await home.settle();
    for (const run of runs) expect((await home.fold(run)).state.progress.status).toBe('completed');
  });
});
