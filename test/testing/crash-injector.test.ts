/** Worker crashes: at any commit, the run has the same result as without a crash. */
import { expect, test } from 'vitest';
import { WorkflowTest } from '../../lib/testing/index.ts';
import { child, shop, twenty } from './orders.ts';

const played = async (prepare: (bench: WorkflowTest) => unknown) => {
  const bench = new WorkflowTest({ workflows: [twenty, child] });
  const done: string[] = [];
  prepare(bench);
  const run = await bench.start(twenty, null);
  const result = await run.result();
  const names = ['chain', 'side 1', 'side 2', 'side 3', 'side 4', 'side 5', 'beside', 'double', 'plus one', 'fast', 'end'];
  for (const name of names) done.push(...bench.calls(name).map(({ key }) => key));
  const steps = await run.steps();
  return { bench, result, done: done.toSorted(), steps };
};

test('a crash at any write of a run with twenty steps does not change its result', { timeout: 120_000 }, async () => {
  const whole = await played(() => {});
  expect(whole.steps.length).toBeGreaterThanOrEqual(19);
  expect(new Set(whole.done).size).toBe(whole.done.length);
  const { writes } = whole.bench;
  expect(writes).toBeGreaterThan(20);
  let repeated = 0;
  for (let write = 1; write <= writes; write += 1) {
    for (const when of ['before', 'after'] as const) {
      const where = `${when} write ${write}`;
      const crashed = await played((bench) => bench.crashAtWrite(write, when));
      expect(crashed.bench.crashes, where).toBe(1);
      expect(crashed.result, where).toEqual(whole.result);
      // Only the steps that ran at the crash run once more.
      const more = [...crashed.done];
      for (const key of whole.done) more.splice(more.indexOf(key), 1);
      expect(new Set(more).size, where).toBe(more.length);
      expect(more.length, where).toBeLessThanOrEqual(5);
      repeated += more.length;
      const outline = (steps: typeof whole.steps) => steps.map(({ key, status }) => `${key} ${status}`);
      expect(outline(crashed.steps).toSorted(), where).toEqual(outline(whole.steps).toSorted());
    }
  }
  expect(repeated).toBeGreaterThan(10);
});

test('a crash before a step’s commit repeats its step function, a crash after it does not', async () => {
  const callsAfter = async (when: 'before' | 'after') => {
    const bench = new WorkflowTest({ workflows: [shop] }).stub('ship', { parcel: 'p' }).crashAt('charge', when);
    expect(await (await bench.start(shop, { amount: 5 })).result()).toMatchObject({ parcel: 'p' });
    expect(bench.crashes).toBe(1);
    return bench.calls('charge').map(({ attempt }) => attempt);
  };
  expect(await callsAfter('before')).toEqual([1, 2]);
  expect(await callsAfter('after')).toEqual([1]);
});

test('a crash during rollbacks leaves no rollback out', async () => {
  const bench = new WorkflowTest({ workflows: [shop] }).crashAt('rollback:charge', 'before');
  const run = await bench.start(shop, { amount: 5 });
  await expect(run.result()).rejects.toMatchObject({ code: 'no_carrier' });
  expect([bench.crashes, bench.calls('rollback:charge').length]).toEqual([1, 2]);
});

test('a step that is never requested causes no crash', async () => {
  const bench = new WorkflowTest({ workflows: [child] }).crashAt('nowhere');
  expect(await (await bench.start(child, { n: 1 })).result()).toBe(3);
  expect(bench.crashes).toBe(0);
});
