/** Cases of the library's own tests that no other test here covers (docs/decisions/openworkflow-cases.md). */
import { describe, expect, test } from 'vitest';
import { NonRetryableError, type StepApi, defineWorkflow } from '../../lib/openworkflow/index.ts';
import { WorkflowTest } from '../../lib/testing/index.ts';

interface Given<Input = unknown> {
  readonly input: Input;
  readonly step: StepApi;
}

describe('children', () => {
  const square = defineWorkflow({ name: 'square' }, async ({ input, step }: Given<{ n: number }>) =>
    step.run({ name: 'square', retryPolicy: { maximumAttempts: 2, initialInterval: '1s' } }, () => {
      tries.set(input.n, (tries.get(input.n) ?? 0) + 1);
      if (input.n === stumbles && tries.get(input.n) === 1) throw new Error('it stumbled');
      if (input.n === breaks) throw new NonRetryableError(`${input.n} is too much`);
      return input.n ** 2;
    }),
  );
  const fan = defineWorkflow({ name: 'fan' }, async ({ input, step }: Given<number>) => {
    const squares = await Promise.all(
      Array.from({ length: input }, (_, n) => step.runWorkflow(square.spec, { n }, { name: `child-${n}` })),
    );
    return squares.reduce((sum, each) => sum + each, 0);
  });
  let tries = new Map<number, number>();
  let [stumbles, breaks] = [-1, -1];
  const sumOf = (count: number): number => Array.from({ length: count }, (_, n) => n ** 2).reduce((sum, each) => sum + each, 0);
  const played = (facts: { readonly stumbles?: number; readonly breaks?: number } = {}) => {
    tries = new Map();
    [stumbles, breaks] = [facts.stumbles ?? -1, facts.breaks ?? -1];
    return new WorkflowTest({ workflows: [fan, square] });
  };

  test('eighty parallel child runs each run once, and a failing one is retried alone', { timeout: 60_000 }, async () => {
    expect(await (await played({ stumbles: 15 }).start(fan, 80)).result()).toBe(sumOf(80));
    expect([...tries.values()].filter((count) => count > 1)).toEqual([2]);
    expect(tries.get(15)).toBe(2);
  });

  test('a permanently failed child fails its parent, and is not started again', async () => {
    const run = await played({ breaks: 15 }).start(fan, 30);
    await expect(run.result()).rejects.toThrow('15 is too much');
    expect(tries.get(15)).toBe(1);
    expect(tries.size).toBe(30);
  });

  test('a failed child can be caught, and stays failed in every replay', async () => {
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }: Given) => {
      const caught = await step.runWorkflow(square.spec, { n: 7 }).catch((error: Error) => error.message);
      await step.sleep('rest', '1h');
      return caught;
    });
    const bench = new WorkflowTest({ workflows: [parent, square] });
    tries = new Map();
    breaks = 7;
    expect(await (await bench.start(parent)).result()).toContain('7 is too much');
    expect(tries.get(7)).toBe(1);
  });

  test('their names get an index together with all other steps', async () => {
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }: Given) => {
      await step.run({ name: 'square' }, () => 0);
      await step.runWorkflow(square.spec, { n: 1 });
      await step.runWorkflow(square.spec, { n: 2 }, { name: 'square:2' });
      await step.sleep('square', '1s');
    });
    const bench = played();
    const run = await new WorkflowTest({ workflows: [parent, square] }).start(parent);
    await run.result();
    expect((await run.steps()).map(({ key }) => key)).toEqual(['square', 'square:1', 'square:2', 'square:3']);
    expect(bench.now()).toBeDefined();
  });

  test('a child continues when its parent is cancelled', async () => {
    const seen: string[] = [];
    const slow = defineWorkflow({ name: 'slow' }, async ({ step }: Given) => {
      await step.sleep('rest', '1h');
      await step.run({ name: 'see' }, () => void seen.push('done'));
    });
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }: Given) => step.runWorkflow(slow.spec));
    const bench = new WorkflowTest({ workflows: [parent, slow] });
    const run = await bench.start(parent);
    await bench.advance('1m');
    await run.cancel();
    await expect(run.result()).rejects.toThrow();
    await bench.advance('2h');
    expect(seen).toEqual(['done']);
  });

  test.each([
    ['a negative number', -1],
    ['not a valid duration', 'soon'],
    ['no date', new Date(Number.NaN)],
  ])('a timeout that is %s fails the run', async (_what, timeout) => {
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }: Given) => {
      const options: object = { timeout };
      await step.runWorkflow(square.spec, { n: 1 }, options);
    });
    const run = await new WorkflowTest({ workflows: [parent, square] }).start(parent);
    await expect(run.result()).rejects.toThrow(/not a valid duration|not a valid time/);
  });
});

describe('signals', () => {
  test('two waits of one run for one signal each take a separate signal', async () => {
    const waiter = defineWorkflow({ name: 'waiter' }, async ({ step }: Given) => {
      const both = await Promise.all([step.waitForSignal({ signal: 'go' }), step.waitForSignal({ signal: 'go' })]);
      return both.map((each) => each?.data);
    });
    const sender = defineWorkflow({ name: 'sender' }, async ({ input, step }: Given<string>) => {
      await step.sendSignal({ signal: 'go', data: input });
      await step.sleep('rest', '1s');
      await step.sendSignal({ signal: 'go', data: `${input}!` });
    });
    const bench = new WorkflowTest({ workflows: [waiter, sender] });
    const waiting = await bench.start(waiter);
    await (await bench.start(sender, 'now')).result();
    expect(await waiting.result()).toEqual(['now', 'now!']);
  });

  test('a signal before a sleep is sent once, also after replays', async () => {
    const sender = defineWorkflow({ name: 'sender' }, async ({ step }: Given) => {
      const { signalId } = await step.sendSignal({ signal: 'go' });
      await step.sleep('rest', '1 day');
      return signalId;
    });
    const counter = defineWorkflow({ name: 'counter' }, async ({ step }: Given) => {
      let count = 0;
      while ((await step.waitForSignal({ signal: 'go', timeout: '1h' })) !== null) count += 1;
      return count;
    });
    const bench = new WorkflowTest({ workflows: [sender, counter] });
    const sending = await bench.start(sender);
    expect(await (await bench.start(counter)).result()).toBe(1);
    expect(await sending.result()).toEqual(expect.any(String));
  });
});

describe('a run', () => {
  test('has the same properties in each replay', async () => {
    const seen: string[] = [];
    const reporting = defineWorkflow({ name: 'reporting' }, async ({ step, run }) => {
      seen.push(JSON.stringify(run));
      await step.sleep('one', '1h');
      await step.sleep('two', '1h');
      return run.id;
    });
    const run = await new WorkflowTest({ workflows: [reporting] }).start(reporting);
    expect(await run.result()).toBe(run.id);
    expect(seen.length).toBeGreaterThan(1);
    expect(new Set(seen).size).toBe(1);
  });

  test.each([
    ['undefined', undefined, null],
    ['null', null, null],
    ['a number', 42, 42],
    ['false', false, false],
    ['a list of records', [{ a: 1 }, { b: [2] }], [{ a: 1 }, { b: [2] }]],
  ])('returns %s as it is stored', async (_what, given, stored) => {
    const returned = defineWorkflow({ name: 'returned' }, () => given);
    expect(await (await new WorkflowTest({ workflows: [returned] }).start(returned)).result()).toEqual(stored);
  });

  test('has one attempt across sleeps', async () => {
    let begun = 0;
    const sleeper = defineWorkflow(
      { name: 'sleeper', retryPolicy: { maximumAttempts: 2, initialInterval: '1s' } },
      async ({ step }: Given) => {
        for (let left = 5; left > 0; left -= 1) await step.sleep('rest', '1h');
        begun += 1;
        throw new Error(`attempt ${begun}`);
      },
    );
    const run = await new WorkflowTest({ workflows: [sleeper] }).start(sleeper);
    await expect(run.result()).rejects.toThrow('attempt 2');
    expect(begun).toBe(2);
  });
});
