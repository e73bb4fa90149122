/** Steps of code runs: keys, retries, waits, stored values and arguments. */
import { runInThisContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { durationMs, minutes } from '../../lib/engine/time.ts';
import { capturePrinted } from '../../lib/program/printed.ts';
import { NonRetryableError, StepError, defineWorkflow } from '../../lib/sdk/index.ts';
import { DrivenRun } from './driven-run.ts';
import { replayOnly } from './replay-only.ts';
import { VirtualClock } from './virtual-clock.ts';

const flow = (fn: Parameters<typeof defineWorkflow>[1], spec: object = {}) => [defineWorkflow({ name: 'test', ...spec }, fn)];

describe('a chain', () => {
  test('of N steps costs N + 1 commits after the first, and one workflow task', async () => {
    const chain = flow(async ({ step }) => {
      let sum = 0;
      for (let each = 0; each < 5; each += 1) sum += await step.run({ name: 'add' }, () => each);
      return sum;
    });
    const run = await new DrivenRun(chain).toTheEnd();
    expect(run.output).toBe(10);
    expect(run.commits).toHaveLength(1 + 5 + 1);
    expect(run.said.filter((each) => each.startsWith('asked'))).toEqual([
      'asked add',
      'asked add:1',
      'asked add:2',
      'asked add:3',
      'asked add:4',
    ]);
    expect(run.clock.now()).toBe(run.facts.createdAt);
  });

  test('has a unique key for each step', async () => {
    const named = flow(async ({ step }) => {
      const keys: string[] = [];
      for (const name of ['a', 'a:1', 'a', 'a', 'a:1', 'b']) keys.push(await step.run({ name }, ({ key }) => key));
      await step.sleep('b', 1);
      return keys;
    });
    const run = await new DrivenRun(named).toTheEnd();
    expect(run.output).toEqual(['a', 'a:1', 'a:2', 'a:3', 'a:1:1', 'b']);
    expect(run.node('b:1')).toMatchObject({ status: 'completed' });
  });

  test('with a sleep suspends the run, and its steps do not run again', async () => {
    const bodies: string[] = [];
    const sleepy = flow(async ({ step }) => {
      const one = await step.run({ name: 'one' }, () => bodies.push('one'));
      await step.sleep('nap', '1h');
      return one + (await step.run({ name: 'two' }, () => bodies.push('two')));
    });
    const run = await new DrivenRun(sleepy).toTheEnd();
    expect(run.output).toBe(3);
    expect(bodies).toEqual(['one', 'two']);
    expect(run.clock.now() - run.facts.createdAt).toBe(3_600_000);
    expect(run.ends).toHaveLength(2);
  });

  test('does not suspend with an undelivered result while another step waits', async () => {
    for (let turns = 0; turns < 40; turns += 1) {
      const race = flow(({ step }) =>
        Promise.race([
          step.run({ name: 'ask' }, async () => {
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            return 'answered';
          }),
          step.sleep('patience', '1h'),
        ]),
      );
      const run = await new DrivenRun(race).toTheEnd();
      expect([turns, run.output, run.clock.now() - run.facts.createdAt]).toEqual([turns, 'answered', 0]);
    }
  });

  test('of 25,000 steps is linear: one batch and one replayed turn of the event loop per result', async () => {
    const steps = 25_000;
    const chain = flow(
      async ({ step }) => {
        for (let each = 0; each < steps; each += 1) await step.run({ name: 'add' }, () => null);
        await step.sleep('nap', 1_000);
        return 'done';
      },
      { maxStepAttempts: 25_000 },
    );
    const run = new DrivenRun(flow(async () => 'none'));
    const many = { ...run.history, entries: historyOfChain(steps) };
    const { asked, drains } = await replayOnly(chain, many);
    expect(asked).toEqual(['nap']);
    expect(drains).toBeLessThan(steps + 100);
    const small = await new DrivenRun(chainOf(250)).toTheEnd();
    const large = await new DrivenRun(chainOf(1_000)).toTheEnd();
    expect([small.commits.length, large.commits.length]).toEqual([252, 1_002]);
    expect(large.clock.drains / 1_000).toBeLessThanOrEqual(small.clock.drains / 250);
  });
});

const chainOf = (steps: number) =>
  flow(
    async ({ step }) => {
      for (let each = 0; each < steps; each += 1) await step.run({ name: 'add' }, () => null);
    },
    { maxStepAttempts: 25_000 },
  );

const historyOfChain = (steps: number) =>
  Array.from({ length: steps }, (_, index) => (index === 0 ? 'add' : `add:${index}`)).flatMap((key) => [
    { kind: 'scheduled' as const, key, step: 'function' as const },
    { kind: 'settled' as const, key, result: { status: 'completed' as const, output: null, endedAt: new VirtualClock().now() } },
  ]);

describe('in parallel', () => {
  test('ten steps that start together are one commit, and results that arrive together are one more', async () => {
    const wide = flow(async ({ step }) =>
      Promise.all(Array.from({ length: 10 }, (_, index) => step.run({ name: 'part' }, () => index))),
    );
    const run = await new DrivenRun(wide).toTheEnd();
    expect(run.output).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(run.commits).toHaveLength(1 + 1 + 1);
  });

  test('a failing step lets its siblings finish, and their results are recorded', async () => {
    const clock = new VirtualClock();
    const both = flow(async ({ step }) => {
      await Promise.all([
        step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, () => {
          throw new Error('no');
        }),
        step.run({ name: 'slow' }, async () => clock.sleep(minutes(5)).then(() => 'slow')),
      ]);
    });
    const run = await new DrivenRun(both, {}, clock).toTheEnd();
    expect(run.said).toEqual(['asked bad', 'asked slow', 'failed bad#1', 'completed slow#1', 'threw']);
    expect(run.failure).toMatchObject({ cause: 'error', message: 'no', details: { step: 'bad' } });
  });

  test('a crash keeps completed steps, and the others run again', async () => {
    const clock = new VirtualClock();
    const bodies: string[] = [];
    const both = flow(async ({ step }) =>
      Promise.all(
        [1, 50, 70].map((wait) =>
          step.run({ name: `part ${wait}` }, async ({ attempt }) => {
            bodies.push(`${wait}#${attempt}`);
            await clock.sleep(durationMs(wait));
            return wait;
          }),
        ),
      ),
    );
    const run = new DrivenRun(both, {}, clock);
    run.beforeTurn = () => (run.turns.length === 1 ? 'die-after' : 'commit');
    await run.toTheEnd();
    expect(run.output).toEqual([1, 50, 70]);
    expect(bodies).toEqual(['1#1', '50#1', '70#1', '50#2', '70#2']);
    expect(run.said.filter((each) => each.startsWith('retried'))).toEqual(['retried part 50#1', 'retried part 70#1']);
  });
});

describe('failures', () => {
  test('a step that throws is retried in the same task if the retry is soon, else after a suspension', async () => {
    let tries = 0;
    const flaky = flow(async ({ step }) =>
      step.run({ name: 'flaky' }, ({ attempt }) => {
        tries += 1;
        if (attempt < 4) throw new Error(`no ${attempt}`);
        return attempt;
      }),
    );
    const run = await new DrivenRun(flaky).toTheEnd();
    expect(run.output).toBe(4);
    expect(tries).toBe(4);
    expect(run.turns.map(({ next }) => next)).toEqual(['running', 'running', 'suspended', 'suspended', 'suspended']);
    expect(run.clock.now() - run.facts.createdAt).toBe(7_000);
  });

  test('after its last attempt a step fails, and a caught failure stays as recorded', async () => {
    let tries = 0;
    const caught = flow(async ({ step }) => {
      let told = '';
      try {
        await step.run({ name: 'bad', retryPolicy: { maximumAttempts: 2, initialInterval: '10ms' } }, () => {
          tries += 1;
          throw Object.assign(new RangeError(`try ${tries}`), { code: 'E_BAD' });
        });
      } catch (error) {
        if (error instanceof StepError)
          told = `${error.step} ${error.cause} ${error.code} ${error.message} ${JSON.stringify(error.details?.['name'])}`;
      }
      await step.sleep('nap', '1 day');
      return told;
    });
    const run = await new DrivenRun(caught).toTheEnd();
    expect(run.output).toBe('bad error E_BAD try 2 "RangeError"');
    expect(tries).toBe(2);
  });

  test.each([
    [
      'a NonRetryableError',
      () => new NonRetryableError('never', { code: 'card_refused', details: { why: 'x' } }),
      { cause: 'invalid', code: 'card_refused', message: 'never' },
    ],
    [
      'a text',
      () => 'just a text',
      { cause: 'error', code: 'thrown_value', message: 'the code threw "just a text", which is not an Error' },
    ],
    [
      'nothing',
      () => undefined,
      { cause: 'error', code: 'thrown_value', message: 'the code threw undefined, which is not an Error' },
    ],
    ['an object', () => ({ status: 404 }), { cause: 'error', message: 'the code threw {"status":404}, which is not an Error' }],
    [
      'an object without a prototype',
      () => Object.create(null) as unknown,
      { cause: 'error', message: 'the code threw {}, which is not an Error' },
    ],
    [
      'a proxy that throws',
      () =>
        new Proxy(
          {},
          {
            has: () => {
              throw new Error('x');
            },
          },
        ),
      { cause: 'error' },
    ],
  ])('%s that is thrown becomes a failure', async (_what, thrown, failure) => {
    const bad = flow(async ({ step }) => {
      await step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, () => {
        throw thrown();
      });
    });
    expect((await new DrivenRun(bad).toTheEnd()).failure).toMatchObject(failure);
    const own = flow(async () => {
      throw thrown();
    });
    expect((await new DrivenRun(own).toTheEnd()).failure).toMatchObject(failure);
  });

  /** The number of attempts of a step whose function throws this, and the failure of the run. */
  const attemptsOf = async (thrower: () => unknown) => {
    let tries = 0;
    const throwing = flow(async ({ step }) => {
      await step.run({ name: 'bad', retryPolicy: { maximumAttempts: 3, initialInterval: 1 } }, () => {
        tries += 1;
        return thrower();
      });
    });
    const { failure } = await new DrivenRun(throwing).toTheEnd();
    return { tries, cause: failure?.cause, name: failure?.details?.['name'] };
  };
  test.each([
    ['ReferenceError', () => runInThisContext('notDefined')],
    ['SyntaxError', () => runInThisContext('const = 1')],
    ['SyntaxError', () => new RegExp(String.fromCodePoint(40))],
  ])('a mistake in the code, a %s, is not retried', async (name, thrower) => {
    expect(await attemptsOf(thrower)).toEqual({ tries: 1, cause: 'code_error', name });
  });
  test.each([
    ['a TypeError, as fetch throws it', 'TypeError', () => Promise.reject(new TypeError('fetch failed'))],
    ['an answer that is not JSON', 'SyntaxError', () => new Response('<html>').json()],
    ['an empty answer', 'SyntaxError', () => new Response('').json()],
    ['another error', undefined, () => Promise.reject(new Error('no'))],
  ])('%s is retried', async (_what, name, thrower) => {
    expect(await attemptsOf(thrower)).toEqual({ tries: 3, cause: 'error', name });
  });

  test('no attempt starts after the deadline: the run fails with the step’s error', async () => {
    const bad = flow(async ({ step }) => {
      await step.sleep('until it is late', '364.99 days');
      await step.run({ name: 'bad', retryPolicy: { initialInterval: '1 day', maximumInterval: '1 day' } }, () => {
        throw new Error('too late for another');
      });
    });
    const run = await new DrivenRun(bad).toTheEnd();
    expect(run.failure).toMatchObject({ message: 'too late for another' });
  });

  test('attempts that were lost in a crash do not count as failures', async () => {
    let tries = 0;
    const flaky = flow(async ({ step }) =>
      step.run({ name: 'flaky', retryPolicy: { maximumAttempts: 2, initialInterval: 1 } }, () => {
        tries += 1;
        if (tries < 5) throw new Error('no');
        return tries;
      }),
    );
    const run = new DrivenRun(flaky);
    let deaths = 0;
    // The machine dies with the first three results in hand.
    run.beforeTurn = ({ entries }) => {
      const hasFailed = entries.some(
        (entry) => entry.kind === 'failed' || (entry.kind === 'retried' && entry.failure.cause !== 'lost'),
      );
      if (!hasFailed || deaths === 3) return 'commit';
      deaths += 1;
      return 'die-before';
    };
    await run.toTheEnd();
    expect(run.output).toBe(5);
  });
});

describe('a retried workflow', () => {
  test('keeps completed steps, runs failed steps again, and counts its attempts', async () => {
    const bodies: string[] = [];
    const again = flow(
      async ({ step, run, random }) => {
        const chance = random();
        const kept = await step.run({ name: 'good' }, () => bodies.push('good'));
        await step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, () => {
          bodies.push(`bad ${run.attempt}`);
          if (run.attempt < 3) throw new Error(`attempt ${run.attempt}`);
        });
        return { kept, attempt: run.attempt, isSame: chance === random() };
      },
      { retryPolicy: { maximumAttempts: 3 } },
    );
    const run = await new DrivenRun(again).toTheEnd();
    expect(run.output).toEqual({ kept: 1, attempt: 3, isSame: false });
    expect(bodies).toEqual(['good', 'bad 1', 'bad 2', 'bad 3']);
    expect(run.clock.now() - run.facts.createdAt).toBe(3_000);
  });

  test('is not retried after a non-retryable failure', async () => {
    const once = flow(
      async () => {
        throw new NonRetryableError('never');
      },
      { retryPolicy: { maximumAttempts: 5 } },
    );
    const run = await new DrivenRun(once).toTheEnd();
    expect(run.said).toEqual(['threw']);
    expect(run.failure).toMatchObject({ cause: 'invalid', code: 'non_retryable' });
  });

  test('does not count sleeps and wake-ups as attempts', async () => {
    const naps = flow(async ({ step, run }) => {
      for (let nap = 0; nap < 4; nap += 1) await step.sleep('nap', '1h');
      return run.attempt;
    });
    expect((await new DrivenRun(naps).toTheEnd()).output).toBe(1);
  });
});

describe('waits', () => {
  test('a suspension cannot be caught', async () => {
    const tries = flow(async ({ step }) => {
      const caught: unknown[] = [];
      try {
        await step.sleep('nap', '1h');
      } catch (error) {
        caught.push(error);
      } finally {
        caught.push('once');
      }
      return caught;
    });
    expect((await new DrivenRun(tries).toTheEnd()).output).toEqual(['once']);
  });

  test('a signal is delivered with its data, by default with the run id as correlation, and is null after the timeout', async () => {
    const waits = flow(async ({ step }) => [
      await step.waitForSignal({ signal: 'paid', timeout: '1h' }),
      await step.waitForSignal({ signal: 'paid', correlation: 'order-7', timeout: '1h' }),
    ]);
    const run = new DrivenRun(waits);
    await run.driveOnce();
    expect(run.node('paid')).toMatchObject({ status: 'waiting', for: 'signal', correlation: run.facts.runId });
    run.signal('paid', { by: 'me' });
    await run.driveOnce();
    expect(run.node('paid:1')).toMatchObject({ status: 'waiting', correlation: 'order-7' });
    await run.toTheEnd();
    expect(run.output).toEqual([{ data: { by: 'me' } }, null]);
  });

  test('a signal that the schema rejects fails the step', async () => {
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'number' ? { value: value + 1 } : { issues: [{ message: 'no number', path: ['sum'] }] },
      },
    };
    const waits = flow(async ({ step }) => (await step.waitForSignal({ signal: 'sum', schema }))?.data);
    const good = new DrivenRun(waits);
    await good.driveOnce();
    good.signal('sum', 4);
    expect((await good.toTheEnd()).output).toBe(5);
    const bad = new DrivenRun(waits);
    await bad.driveOnce();
    bad.signal('sum', 'four');
    expect((await bad.toTheEnd()).failure).toMatchObject({
      cause: 'contract_violated',
      code: 'signal_invalid',
      message: expect.stringContaining('/sum: no number') as string,
    });
  });

  test('a called workflow returns a result, fails its step, or continues after the timeout', async () => {
    const calls = flow(async ({ step }) => {
      const good = await step.runWorkflow({ name: 'good' }, { n: 1 });
      const bad = await step
        .runWorkflow({ name: 'bad' })
        .catch((error: unknown) => (error instanceof StepError ? error.message : 'other'));
      const late = await step
        .runWorkflow({ name: 'late' }, null, { name: 'the late one', timeout: '1h' })
        .catch((error: unknown) => (error instanceof StepError ? error.code : 'other'));
      return [good, bad, late];
    });
    const run = await new DrivenRun(calls, {
      children: {
        good: (input) => ({ status: 'completed', output: { got: input } }),
        bad: () => ({ status: 'failed', error: { cause: 'error', message: 'it broke' } }),
      },
    }).toTheEnd();
    expect(run.output).toEqual([{ got: { n: 1 } }, expect.stringContaining('it broke'), 'workflow_expired']);
    expect(run.node('the late one')).toBeDefined();
  });

  test('a signal is sent once per step, and the step gets the result', async () => {
    const sends = flow(async ({ step, run }) =>
      step.sendSignal({ signal: 'done', correlation: `${run.workflowName}-7`, data: { at: new Date(0) } }),
    );
    const run = await new DrivenRun(sends).toTheEnd();
    expect(run.sent).toEqual(['done test-7 {"at":"1970-01-01T00:00:00.000Z"}']);
    expect(run.output).toEqual({ signalId: 'done' });
  });

  test.each([
    [
      'an invalid duration',
      'not a valid duration: "soon"',
      async (step: { sleep(name: string, wait: never): Promise<void> }) => step.sleep('nap', 'soon' as never),
    ],
    [
      'a negative duration',
      'not a valid duration: -5',
      async (step: { sleep(name: string, wait: never): Promise<void> }) => step.sleep('nap', -5 as never),
    ],
    [
      'an empty name',
      'the name of a step',
      async (step: { sleep(name: string, wait: never): Promise<void> }) => step.sleep('', 5 as never),
    ],
    [
      'a name with the reserved rollback prefix',
      'must not start with rollback:',
      async (step: { sleep(name: string, wait: never): Promise<void> }) => step.sleep('rollback:x', 5 as never),
    ],
  ])('%s fails the run with its message and without a retry', async (_what, text, go) => {
    const bad = flow(async ({ step }) => go(step), { retryPolicy: { maximumAttempts: 9 } });
    const run = await new DrivenRun(bad).toTheEnd();
    expect(run.failure).toMatchObject({
      cause: 'invalid',
      code: 'step_invalid',
      message: expect.stringContaining(text) as string,
    });
    expect(run.turns).toHaveLength(1);
  });
});

describe('what is stored', () => {
  const returning = (value: () => unknown) =>
    flow(async ({ step }) => step.run({ name: 'give', retryPolicy: { maximumAttempts: 5 } }, value));

  test('is returned as JSON also the first time, and the code may change it', async () => {
    const giving = flow(async ({ step }) => {
      const given = await step.run({ name: 'give' }, () => ({
        at: new Date(0),
        none: undefined,
        list: [undefined, 1],
        deep: { n: -0 },
      }));
      const first = JSON.stringify(given);
      Object.assign(given, { list: 'changed' });
      await step.sleep('nap', 5);
      return first;
    });
    const run = await new DrivenRun(giving).toTheEnd();
    expect(run.output).toBe('{"at":"1970-01-01T00:00:00.000Z","list":[null,1],"deep":{"n":0}}');
    expect(run.node('give')).toMatchObject({ output: { value: { list: [null, 1] } } });
  });

  const circle: { self?: unknown } = {};
  circle.self = circle;
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  test.each([
    ['a function', { a: { b: () => 1 } }, 'a function at /a/b', '/a/b'],
    ['a symbol', { a: Symbol('x') }, 'a symbol at /a', '/a'],
    ['a bigint', { a: [1, 2n] }, 'the bigint 2 at /a/1', '/a/1'],
    ['a Map', { 'a/b': new Map() }, 'a Map at /a~1b', '/a~1b'],
    ['a Set', new Set(), 'a Set', ''],
    ['NaN', { a: Number.NaN }, 'JSON has no NaN at /a', '/a'],
    ['Infinity', [Infinity], 'JSON has no Infinity at /0', '/0'],
    ['a circle', circle, 'an object that contains itself at /self', '/self'],
    ['a promise', { a: Promise.resolve(1) }, 'a Promise at /a', '/a'],
    ['bytes', { a: new Uint8Array(2) }, 'a Uint8Array at /a', '/a'],
    ['a Date that is no time', { a: new Date(Number.NaN) }, 'an invalid Date at /a', '/a'],
    ['half a character', { a: '\ud800' }, 'a string with a lone surrogate at /a', '/a'],
    ['what is nested without end', deep, 'more than 100 levels', undefined],
  ])('%s is rejected with its path, and not retried', async (_what, value, text, path) => {
    const run = await new DrivenRun(returning(() => value)).toTheEnd();
    expect(run.failure).toMatchObject({
      cause: 'invalid',
      code: 'result_not_serialisable',
      message: expect.stringContaining(text) as string,
      details: { step: 'give', ...(path === undefined ? {} : { path }) },
    });
    expect(run.said.filter((each) => each.startsWith('retried'))).toEqual([]);
    const own = await new DrivenRun(flow(async () => value)).toTheEnd();
    expect(own.failure).toMatchObject({ code: 'result_not_serialisable' });
  });

  test('a value larger than 16 MB is rejected, and one of 10 MB is not', async () => {
    const large = await new DrivenRun(returning(() => 'x'.repeat(10_000_000))).toTheEnd();
    expect(large.output).toHaveLength(10_000_000);
    const tooLarge = await new DrivenRun(returning(() => 'ä'.repeat(9_000_000))).toTheEnd();
    expect(tooLarge.failure).toMatchObject({ cause: 'invalid', code: 'result_too_large' });
  });

  test('an invalid input or signal data is rejected at the call', async () => {
    const calls = flow(async ({ step }) => step.runWorkflow<unknown, unknown, unknown>({ name: 'x' }, { n: 1n }));
    expect((await new DrivenRun(calls).toTheEnd()).failure).toMatchObject({
      code: 'input_not_serialisable',
      details: { path: '/n' },
    });
    const sends = flow(async ({ step }) => step.sendSignal({ signal: 'x', data: () => 1 }));
    expect((await new DrivenRun(sends).toTheEnd()).failure).toMatchObject({ code: 'data_not_serialisable' });
  });

  test('printed lines are stored with the result, and cut at the limit', async () => {
    const prints = flow(async ({ step }) => {
      await Promise.all(
        ['a', 'b'].map((name) =>
          step.run({ name }, async () => {
            capturePrinted(`${name} begins\n`);
            await Promise.resolve();
            capturePrinted(`${name} ends`);
          }),
        ),
      );
      await step.run({ name: 'flood' }, () => capturePrinted('x\n'.repeat(1_000)));
      await step.run({ name: 'long' }, () => capturePrinted(`short\n${'y'.repeat(20_000)}\n`));
      return capturePrinted('by nobody');
    });
    const run = await new DrivenRun(prints).toTheEnd();
    const printed = Object.fromEntries(
      run.turns.flatMap(({ entries }) =>
        entries.flatMap((entry) => (entry.kind === 'completed' ? [[entry.key, entry.printed]] : [])),
      ),
    );
    expect(printed['a']).toEqual(['a begins', 'a ends']);
    expect(printed['b']).toEqual(['b begins', 'b ends']);
    expect(printed['flood']).toHaveLength(200);
    expect(printed['flood']?.at(-1)).toContain('output truncated');
    expect(printed['long']).toEqual(['short', expect.stringContaining('output truncated')]);
    expect(run.output).toBe(false);
  });
});

describe('arguments of the code', () => {
  test('time, random values and ids are the same in each replay, and the logger writes nothing then', async () => {
    const seen: unknown[][] = [];
    const told = flow(
      async ({ step, now, random, uuid, log, run, version }) => {
        const here: unknown[] = [];
        const look = (): void => void here.push(now().toISOString(), random(), uuid());
        seen.push(here);
        log.info('begins', { run: run.workflowName });
        look();
        await step.run({ name: 'a' }, () => [random(), now().getTime()]);
        look();
        log.warn('goes on');
        await step.sleep('nap', '1h');
        look();
        log.error('ends', new Date(0));
        return [version, Object.isFrozen(run)];
      },
      { version: 'v2' },
    );
    const run = await new DrivenRun(told, { version: 'v2' }).toTheEnd();
    expect(run.output).toEqual(['v2', true]);
    expect(seen).toHaveLength(2);
    expect(seen[1]?.slice(0, 6)).toEqual(seen[0]?.slice(0, 6));
    expect(new Date(String(seen[1]?.[6])).getTime() - run.facts.createdAt).toBe(3_600_000);
    expect(new Set(seen[1]).size).toBe(8);
    expect(seen[1]?.[2]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(run.lines).toEqual(['begins {"run":"test"}', 'goes on', 'ends "1970-01-01T00:00:00.000Z"']);
  });

  test('the schema validates the input first, and the code gets the schema’s output', async () => {
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: async (value: unknown) =>
          typeof value === 'string'
            ? { value: new Date(value) }
            : { issues: [{ message: 'no text' }, { message: 'bad', path: [{ key: 'a' }, 0] }] },
      },
    };
    const checked = [
      defineWorkflow({ name: 'test', schema, retryPolicy: { maximumAttempts: 3 } }, async ({ input, step }) => {
        await step.sleep('nap', 5);
        return input.getFullYear();
      }),
    ];
    expect((await new DrivenRun(checked, { input: '2020-05-05' }).toTheEnd()).output).toBe(2020);
    const bad = await new DrivenRun(checked, { input: 7 }).toTheEnd();
    expect(bad.failure).toMatchObject({
      cause: 'invalid',
      code: 'input_invalid',
      message: 'the input does not match the schema of the workflow: no text; /a/0: bad',
    });
    expect(bad.said).toEqual(['threw']);
  });

  test('changes of the input by the code do not affect a replay', async () => {
    const drains = flow(async ({ input, step }) => {
      const list = input as number[];
      list.push(list.length);
      const wait = step.waitForSignal({ signal: 'x' });
      await step.run({ name: 'a' }, () => null);
      await wait;
      return list;
    });
    const run = new DrivenRun(drains, { input: [7] });
    run.beforeTurn = () => {
      if (run.turns.length === 1) run.signal('x', null);
      return 'commit';
    };
    expect((await run.toTheEnd()).output).toEqual([7, 1]);
  });
});

test('a run does not exceed maxStepAttempts of its workflow', async () => {
  const bodies: string[] = [];
  const endless = flow(
    async ({ step }) => {
      for (;;) await step.run({ name: 'more' }, ({ key }) => bodies.push(key));
    },
    { maxStepAttempts: 20, retryPolicy: { maximumAttempts: 3 } },
  );
  const run = await new DrivenRun(endless).toTheEnd();
  expect(run.failure).toMatchObject({ cause: 'invalid', code: 'step_limit_exceeded', details: { limit: 20, stepAttempts: 20 } });
  expect(bodies).toHaveLength(20);
  const failing = flow(
    async ({ step }) => {
      await step.run({ name: 'more', retryPolicy: { maximumAttempts: 0, maximumInterval: 1 } }, ({ attempt }) => {
        throw new Error(`try ${attempt}`);
      });
    },
    { maxStepAttempts: 7 },
  );
  expect((await new DrivenRun(failing).toTheEnd()).failure).toMatchObject({ code: 'step_limit_exceeded' });
});
