/** What code runs come to, step by step. */
import { describe, expect, test } from 'vitest';
import { DrivenRun } from './driven-run.ts';
import { defineWorkflow } from '../../lib/sdk/index.ts';

describe('a chain', () => {
  test('of N steps costs N + 1 commits after the first, and one drive', async () => {
    const chain = defineWorkflow({ name: 'test' }, async ({ step }) => {
      let sum = 0;
      for (let each = 0; each < 5; each += 1) sum += await step.run({ name: 'add' }, () => each);
      return sum;
    });
    const run = await new DrivenRun([chain]).toTheEnd();
    expect(run.output).toBe(10);
    expect(run.commits).toHaveLength(1 + 5 + 1);
    expect(run.said.filter((each) => each.startsWith('asked'))).toEqual(
      ['add', 'add:1', 'add:2', 'add:3', 'add:4'].map((key) => `asked ${key}`),
    );
    expect(run.clock.now()).toBe(run.facts.createdAt);
  });

  test('with a sleep rests in between, and its steps are not run again', async () => {
    const bodies: string[] = [];
    const sleepy = defineWorkflow({ name: 'test' }, async ({ step }) => {
      const one = await step.run({ name: 'one' }, () => bodies.push('one'));
      await step.sleep('nap', '1h');
      return one + (await step.run({ name: 'two' }, () => bodies.push('two')));
    });
    const run = await new DrivenRun([sleepy]).toTheEnd();
    expect(run.output).toBe(3);
    expect(bodies).toEqual(['one', 'two']);
    expect(run.clock.now() - run.facts.createdAt).toBe(3_600_000);
    expect(run.ends).toHaveLength(2);
  });
});

test('ten that begin side by side are one commit, and results that come together are one more', async () => {
  const wide = defineWorkflow({ name: 'test' }, async ({ step }) =>
    Promise.all(Array.from({ length: 10 }, (_, index) => step.run({ name: 'part' }, () => index))),
  );
  const run = await new DrivenRun([wide]).toTheEnd();
  expect(run.output).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(run.commits).toHaveLength(1 + 1 + 1);
});
