import { describe, expect, it } from 'vitest';
import { byRun } from '../../../lib/service/execution/collect-results.ts';
import { createTestEnv, workflow } from '../test-env.ts';

const wide = (branches: number): string => Array.from({ length: branches }, (_, index) => `a>b${index} b${index}>d`).join(' ');

const received = (results: Parameters<typeof byRun>[0][number]['result'][], isRedelivered = false) =>
  byRun(results.map((result) => ({ result, isRedelivered })));

describe('a wide join', () => {
  it('a hundred branches take at most 25 commits, and their join fires once', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', wide(100)));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: env.worker });
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const results = [...env.ports.jobs.takeResults()];
    expect(results).toHaveLength(100);
    while (results.length > 0) await env.collect(received(results.splice(0, 10)));
    await env.settle();
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(state.asOf).toBeLessThanOrEqual(25);
    expect(env.attempts.filter((each) => each === 'd#1')).toHaveLength(1);
  });

  it('eight branches do not use the collector', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', wide(8)));
    const run = await env.begin('flow');
    await env.settle();
    expect(env.ports.jobs.results).toEqual([]);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('a duplicate result is committed once', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', wide(12)));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const results = [...env.ports.jobs.takeResults()];
    await env.collect(received(results.slice(0, 6)));
    const { asOf } = (await env.fold(run)).state;
    await env.collect(received(results.slice(0, 6)));
    expect((await env.fold(run)).state.asOf).toBe(asOf);
    await env.collect(received(results));
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('a batch with results of several runs is grouped by run', async () => {
    const env = createTestEnv();
    await env.publish(workflow('one', wide(10)));
    await env.publish(workflow('two', wide(10)));
    const runs = [await env.begin('one'), await env.begin('two')];
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const results = [...env.ports.jobs.takeResults()];
    expect(received(results).map((each) => each.results.length)).toEqual([10, 10]);
    await env.collect(received(results));
    await env.settle();
    for (const run of runs) expect((await env.fold(run)).state.progress.status).toBe('completed');
  });
});
