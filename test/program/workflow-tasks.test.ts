/** Workflow tasks: start, concurrent commits, cancel, hand-off and end; and nondeterminism errors. */
import { describe, expect, test } from 'vitest';
import { durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import { type Step, type Workflow, type WorkflowFunction, defineWorkflow } from '../../lib/sdk/index.ts';
import { DrivenRun, type Options, saidOf } from './driven-run.ts';
import { replayOnly } from './replay-only.ts';
import { VirtualClock } from './virtual-clock.ts';

const flow = (fn: WorkflowFunction<unknown, unknown>, spec: object = {}): Workflow[] => [
  defineWorkflow({ name: 'test', ...spec }, fn),
];

describe('concurrent commits', () => {
  test.each([
    ['told at once', true],
    ['told by the answer', false],
  ])(
    '%s: a result in hand is kept, the body is not run again, and the code sees the order of the log',
    async (_how, tellsAtOnce) => {
      const clock = new VirtualClock();
      const bodies: string[] = [];
      const order: string[] = [];
      const code = flow(async ({ step }) => {
        order.length = 0;
        await Promise.all([
          step.waitForSignal({ signal: 'go' }).then(() => order.push('signal')),
          step
            .run({ name: 'work' }, async () => {
              bodies.push('work');
              await clock.sleep(seconds(1));
            })
            .then(() => order.push('work')),
        ]);
        return order.join(', ');
      });
      const run = new DrivenRun(code, {}, clock);
      run.tellsAtOnce = tellsAtOnce;
      run.beforeTurn = ({ entries }) => {
        // The result of the work is on its way, and the signal comes first.
        if (entries.some(({ kind }) => kind === 'completed')) run.signal('go', null);
        return 'commit';
      };
      await run.toTheEnd();
      expect(run.output).toBe('signal, work');
      expect(bodies).toEqual(['work']);
      expect(run.said).toEqual(['asked go', 'asked work', 'completed work#1', 'returned']);
    },
  );

  test('a signal during a running step function is delivered immediately, without a new replay', async () => {
    const clock = new VirtualClock();
    let passes = 0;
    const code = flow(async ({ step }) => {
      passes += 1;
      const [, told] = await Promise.all([
        step.run({ name: 'long' }, () => clock.sleep(minutes(10))),
        step.waitForSignal({ signal: 'go' }).then(() => step.run({ name: 'after' }, () => clock.now())),
      ]);
      return told;
    });
    const run = new DrivenRun(code, {}, clock);
    run.tellsAtOnce = true;
    clock.later(minutes(3), () => run.signal('go', 1));
    await run.toTheEnd();
    expect(run.output).toBe(run.facts.createdAt + 180_000);
    expect(passes).toBe(1);
  });

  test('a workflow task that another task has replaced stops', async () => {
    const code = flow(async ({ step }) => step.run({ name: 'a' }, () => 1));
    const run = new DrivenRun(code);
    run.beforeTurn = () => {
      run.cancel();
      return 'commit';
    };
    await run.toTheEnd();
    expect(run.state.progress).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(run.said).toEqual([]);
    expect(run.ends).toEqual([{ kind: 'finished' }]);
  });
});

describe('time', () => {
  test('no step function starts after the hand-off time, and the next task continues with the undelivered results', async () => {
    const clock = new VirtualClock();
    const begun: number[] = [];
    const code = flow(async ({ step }) => {
      for (let each = 0; each < 6; each += 1)
        await step.run({ name: 'work' }, async () => {
          begun.push(clock.now());
          await clock.sleep(seconds(10));
        });
      return 'done';
    });
    const run = new DrivenRun(code, { driveMs: 25_000 }, clock);
    await run.toTheEnd();
    expect(run.output).toBe('done');
    expect(begun).toHaveLength(6);
    expect(run.turns.map(({ next }) => next).filter((next) => next === 'yielded')).toHaveLength(2);
    expect(run.said.filter((each) => each.startsWith('retried'))).toEqual([]);
    expect(run.commits).toHaveLength(1 + 6 + 1 + 2);
  });

  test('step functions that run at the hand-off time are awaited and recorded', async () => {
    const clock = new VirtualClock();
    const code = flow(async ({ step }) =>
      Promise.all(
        [30, 20, 50].map((wait) => step.run({ name: `${wait} s` }, async () => clock.sleep(seconds(wait)).then(() => wait))),
      ),
    );
    const run = await new DrivenRun(code, { driveMs: 10_000 }, clock).toTheEnd();
    expect(run.output).toEqual([30, 20, 50]);
    expect(run.turns.map(({ next }) => next)).toEqual(['running', 'running', 'running', 'yielded', 'suspended']);
    expect(run.ends).toHaveLength(2);
  });

  test('a requested hand-off works like the hand-off time, also during a rollback', async () => {
    const clock = new VirtualClock();
    const begun: string[] = [];
    const code = flow(async ({ step }) => {
      for (const name of ['a', 'b', 'c'])
        await step.run({ name, rollback: () => void begun.push(`undo ${name}`) }, async () => {
          begun.push(name);
          if (name === 'b') run.handOn();
          await clock.sleep(seconds(10));
        });
      throw new Error('undo it');
    });
    const run = new DrivenRun(code, {}, clock);
    await run.driveOnce();
    expect([begun, run.turns.at(-1)?.next]).toEqual([['a', 'b'], 'yielded']);
    run.beforeTurn = (turn) => {
      if (turn.entries.some((entry) => entry.kind === 'scheduled' && entry.command.kind === 'rollback')) run.handOn();
      return 'commit';
    };
    await run.driveOnce();
    expect([begun.slice(2), run.turns.at(-1)?.next]).toEqual([['c', 'undo c'], 'yielded']);
    await run.toTheEnd();
    expect(begun).toEqual(['a', 'b', 'c', 'undo c', 'undo b', 'undo a']);
    expect(run.said.filter((each) => each.startsWith('retried'))).toEqual([]);
  });

  test('code that awaits something that is not a step fails the run after five workflow tasks', async () => {
    const stuck = flow(async ({ step }) => {
      await step.run({ name: 'a' }, () => 1);
      await new Promise(() => {});
    });
    const run = await new DrivenRun(stuck).toTheEnd();
    expect(run.failure).toMatchObject({ code: 'code_stalled' });
    expect(run.said).toEqual(['asked a', 'completed a#1']);
  });

  test('code may await something that is not a step for a while, live and replayed', async () => {
    const clock = new VirtualClock();
    const slow = flow(async ({ step }) => {
      await clock.sleep(seconds(20));
      const one = await step.run({ name: 'a' }, () => 1);
      await step.sleep('nap', '1h');
      await clock.sleep(seconds(20));
      return one;
    });
    expect((await new DrivenRun(slow, {}, clock).toTheEnd()).output).toBe(1);
  });
});

describe('idempotent steps', () => {
  const chainOf = (clock: VirtualClock, idempotent: boolean, begun: string[] = []) =>
    flow(async ({ step }) => {
      for (let each = 0; each < 5; each += 1)
        await step.run({ name: 'work', idempotent }, ({ key }) => {
          begun.push(key);
          return clock.sleep(durationMs(10));
        });
    });

  test.each([
    [false, 10 + 5 * 20, 1 + 5 + 1],
    [true, 10 + 5 * 10 + 10, 1 + 1 + 1],
  ])('idempotent: %s; a chain of five with commits of 10 ms takes %i ms and %i commits', async (idempotent, tookMs, commits) => {
    const clock = new VirtualClock();
    const run = new DrivenRun(chainOf(clock, idempotent), {}, clock);
    run.beforeTurn = () => clock.sleep(durationMs(10)).then(() => 'commit');
    await run.toTheEnd();
    expect(clock.now() - run.facts.createdAt).toBe(tookMs);
    expect(run.commits).toHaveLength(commits);
  });

  test.each([
    [
      true,
      'starts before its batch is committed, is aborted if the commit fails, and starts again',
      ['b', 'b', 'b was stopped', 'b is done'],
    ],
    [false, 'begins when its turn is committed, and once', ['b', 'b is done']],
  ])('the next step, idempotent: %s, %s', async (idempotent, _what, expected) => {
    const clock = new VirtualClock();
    const begun: string[] = [];
    const code = flow(async ({ step }) => {
      const signal = step.waitForSignal({ signal: 'go' });
      await step.run({ name: 'a', idempotent: true }, () => 1);
      await step.run({ name: 'b', idempotent }, async ({ signal: stop }) => {
        begun.push('b');
        await clock.sleep(seconds(1));
        begun.push(stop.aborted ? 'b was stopped' : 'b is done');
      });
      return signal;
    });
    const run = new DrivenRun(code, {}, clock);
    run.beforeTurn = async ({ entries }): Promise<'commit'> => {
      await clock.sleep(durationMs(10));
      if (entries.some(({ kind }) => kind === 'completed')) run.signal('go', 7);
      return 'commit';
    };
    await run.toTheEnd();
    expect(run.output).toEqual({ data: 7 });
    expect(begun).toEqual(expected);
  });
});

describe('results of idempotent steps in a row', () => {
  interface Drawn {
    readonly name: string;
    readonly ms?: number;
    readonly output?: string;
    readonly hasEffects?: true;
    readonly hasRollback?: true;
    /** attempts that fail first */
    readonly failures?: number;
  }
  const named = (names: string, ms = 10): readonly Drawn[] => names.split('').map((name) => ({ name, ms }));
  const batchesOf = (run: DrivenRun): readonly string[] => run.turns.map(({ entries }) => entries.map(saidOf).join(', '));
  const played = (step: Step, clock: VirtualClock, begun: string[], { name, ms = 0, failures = 0, ...drawn }: Drawn) =>
    step.run(
      {
        name,
        idempotent: drawn.hasEffects !== true,
        retryPolicy: { initialInterval: 400 },
        ...(drawn.hasRollback === true ? { rollback: () => void begun.push(`undo ${name}`) } : {}),
      },
      async ({ attempt }) => {
        begun.push(name);
        await clock.sleep(durationMs(ms));
        if (attempt <= failures) throw new Error(name);
        return drawn.output ?? name;
      },
    );

  async function chainOf(steps: readonly Drawn[], options: Options = {}, before?: (run: DrivenRun, step: Step) => unknown) {
    const clock = new VirtualClock();
    const begun: string[] = [];
    const code = flow(async ({ step }) => {
      const beside = before?.(run, step);
      for (const each of steps) await played(step, clock, begun, each);
      return beside;
    });
    const run: DrivenRun = new DrivenRun(code, options, clock);
    return { run, begun, clock };
  }

  test('share one commit, with the end of the run', async () => {
    const { run, begun } = await chainOf(named('abcd'));
    await run.toTheEnd();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    expect(batchesOf(run)).toEqual([
      'asked a',
      'completed a#1, asked b, completed b#1, asked c, completed c#1, asked d, completed d#1, returned',
    ]);
  });

  test('are committed when the first one is 250 ms old, also while a step runs', async () => {
    const { run, clock } = await chainOf(named('abcd', 100));
    const at: number[] = [];
    run.beforeTurn = () => {
      at.push(clock.now() - run.facts.createdAt);
      return 'commit';
    };
    await run.toTheEnd();
    expect(batchesOf(run)).toEqual([
      'asked a',
      'completed a#1, asked b, completed b#1, asked c, completed c#1, asked d',
      'completed d#1, returned',
    ]);
    expect(at).toEqual([0, 350, 400]);
  });

  test('are committed when they are long', async () => {
    const { run } = await chainOf(named('abcd').map((each) => ({ ...each, output: 'x'.repeat(30_000) })));
    await run.toTheEnd();
    expect(batchesOf(run)).toEqual([
      'asked a',
      'completed a#1, asked b, completed b#1, asked c, completed c#1, asked d',
      'completed d#1, returned',
    ]);
  });

  test.each<[string, Partial<Drawn>]>([
    ['with side effects', { hasEffects: true }],
    ['with a rollback', { hasRollback: true }],
  ])('are committed before a step %s begins, whose result is committed at once', async (_what, more) => {
    const { run } = await chainOf(named('abcde').map((each) => (each.name === 'c' ? { ...each, ...more } : each)));
    await run.toTheEnd();
    expect(batchesOf(run)).toEqual([
      'asked a',
      'completed a#1, asked b, completed b#1, asked c',
      'completed c#1, asked d',
      'completed d#1, asked e, completed e#1, returned',
    ]);
  });

  test('are committed when a step fails and is tried again', async () => {
    const { run } = await chainOf(named('abcd').map((each) => (each.name === 'b' ? { ...each, failures: 1 } : each)));
    await run.toTheEnd();
    expect(batchesOf(run)).toEqual([
      'asked a',
      'completed a#1, asked b, retried b#1',
      'completed b#2, asked c, completed c#1, asked d, completed d#1, returned',
    ]);
  });

  test('share no commit while the code waits for something', async () => {
    const { run } = await chainOf(named('abc'), {}, (_run, step) => step.sleep('nap', '1 h'));
    await run.toTheEnd();
    expect(batchesOf(run).slice(0, 4)).toEqual([
      'asked nap, asked a',
      'completed a#1, asked b',
      'completed b#1, asked c',
      'completed c#1',
    ]);
  });

  test('share no commit beside a step with side effects', async () => {
    const clock = new VirtualClock();
    const code = flow(async ({ step }) => {
      const beside = played(step, clock, [], { name: 'slow', ms: 1_000, hasEffects: true });
      for (const each of named('abc')) await played(step, clock, [], each);
      return beside;
    });
    const run = await new DrivenRun(code, {}, clock).toTheEnd();
    expect(batchesOf(run)).toEqual([
      'asked slow, asked a',
      'completed a#1, asked b',
      'completed b#1, asked c',
      'completed c#1',
      'completed slow#1, returned',
    ]);
  });

  test('that run in parallel share a commit', async () => {
    const clock = new VirtualClock();
    const code = flow(({ step }) =>
      Promise.all(['a', 'b', 'c'].map((name, at) => played(step, clock, [], { name, ms: 10 * at }))),
    );
    const run = await new DrivenRun(code, {}, clock).toTheEnd();
    expect(batchesOf(run)).toEqual(['asked a, asked b, asked c', 'completed a#1, completed b#1, completed c#1, returned']);
  });

  test('share no commit after a crash, so that the log names the step that crashes its worker', async () => {
    const { run } = await chainOf(named('abc'), { mayHaveCrashed: true });
    await run.toTheEnd();
    expect(batchesOf(run)).toEqual(['asked a', 'completed a#1, asked b', 'completed b#1, asked c', 'completed c#1, returned']);
  });

  test('are lost when the worker crashes, and their steps run again', async () => {
    const { run, begun } = await chainOf(named('abc'));
    let isFirst = true;
    run.beforeTurn = ({ entries }) => {
      if (!isFirst || entries.length < 3) return 'commit';
      isFirst = false;
      return 'die-before';
    };
    await run.toTheEnd();
    expect(begun).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
    expect(run.output).toBe(null);
  });

  test('are dropped when the run is cancelled, and the attempt behind them is aborted', async () => {
    const { run, begun, clock } = await chainOf([...named('ab'), { name: 'c', ms: 10_000 }]);
    clock.later(durationMs(100), () => run.cancel());
    await run.toTheEnd();
    expect(run.state.progress).toMatchObject({ status: 'cancelled' });
    expect([begun, batchesOf(run)]).toEqual([['a', 'b', 'c'], ['asked a']]);
  });

  test('are dropped when another writer commits first, and only the first result is kept', async () => {
    const { run, begun, clock } = await chainOf([...named('ab'), { name: 'c', ms: 100 }]);
    clock.later(durationMs(50), () => run.recover());
    await run.toTheEnd();
    expect(run.output).toBe(null);
    expect(begun).toEqual(['a', 'b', 'c', 'b', 'c']);
  });

  test('are committed when the task hands off', async () => {
    const { run, begun } = await chainOf([...named('ab', 40), { name: 'c', ms: 40 }], { driveMs: 90 });
    await run.toTheEnd();
    expect(begun).toEqual(['a', 'b', 'c']);
    expect(run.turns.map(({ next }) => next)).toEqual(['running', 'yielded', 'suspended']);
    expect(batchesOf(run)[1]).toBe('completed a#1, asked b, completed b#1, asked c, completed c#1');
  });
});

describe('cancelled', () => {
  test('a step function is aborted, its result is not recorded, and the workflow task ends', async () => {
    const clock = new VirtualClock();
    const told: unknown[] = [];
    const code = flow(async ({ step }) =>
      step.run({ name: 'long' }, async ({ signal }) => {
        signal.addEventListener('abort', () => told.push(signal.reason));
        await clock.sleep(minutes(10), signal);
        told.push('ended');
        return 1;
      }),
    );
    const run = new DrivenRun(code, {}, clock);
    clock.later(minutes(1), () => run.cancel());
    await run.toTheEnd();
    expect(run.state.progress).toMatchObject({ status: 'cancelled' });
    expect(told).toEqual([expect.objectContaining({ message: 'the run has ended' }), 'ended']);
    expect(run.said).toEqual(['asked long']);
    expect(run.ends).toEqual([{ kind: 'finished' }]);
    expect(clock.now() - run.facts.createdAt).toBe(60_000);
  });

  test('a step function that ignores its signal is abandoned after 5 s, and its late failure has no effect', async () => {
    const clock = new VirtualClock();
    const code = flow(async ({ step }) =>
      step.run({ name: 'deaf' }, async () => {
        await clock.sleep(minutes(10));
        throw new Error('late');
      }),
    );
    const run = new DrivenRun(code, {}, clock);
    clock.later(minutes(1), () => run.cancel());
    await run.toTheEnd();
    expect(clock.now() - run.facts.createdAt).toBe(65_000);
    await clock.until(clock.sleep(minutes(20)));
  });

  test('a killed workflow task reports the running step functions', async () => {
    const clock = new VirtualClock();
    const code = flow(async ({ step }) =>
      Promise.all(
        [1, 2].map((each) =>
          step.run({ name: `deaf ${each}`, retryPolicy: { maximumAttempts: 1 } }, () => clock.sleep(minutes(10))),
        ),
      ),
    );
    const run = new DrivenRun(code, {}, clock);
    clock.later(minutes(1), () => void run.drive.kill('its time was over'));
    await run.toTheEnd();
    expect(run.ends[0]).toEqual({
      kind: 'timed_out',
      message: 'its time was over',
      running: [
        { key: 'deaf 1', attempt: 1 },
        { key: 'deaf 2', attempt: 1 },
      ],
    });
    expect(run.failure).toMatchObject({ code: 'timed_out' });
  });
});

describe('rollbacks', () => {
  const undone: string[] = [];
  const booking = (
    end: (step: Parameters<WorkflowFunction<unknown, unknown>>[0]['step']) => Promise<unknown>,
    spec: object = {},
  ) => {
    undone.length = 0;
    return flow(async ({ step }) => {
      for (const name of ['flight', 'hotel', 'car'])
        await step.run(
          { name, rollback: ({ output, key, attempt }) => undone.push(`${key}#${attempt} ${output}`) },
          () => `a ${name}`,
        );
      await step.run({ name: 'mail' }, () => 'sent');
      return end(step);
    }, spec);
  };

  test('run in reverse order when the run fails, each as a step', async () => {
    const run = await new DrivenRun(
      booking(async () => {
        throw new Error('no');
      }),
    ).toTheEnd();
    expect(undone).toEqual(['rollback:car#1 a car', 'rollback:hotel#1 a hotel', 'rollback:flight#1 a flight']);
    expect(run.failure).toMatchObject({ message: 'no' });
    expect(run.said.slice(-8)).toEqual([
      'threw',
      'asked rollback:car',
      'completed rollback:car#1',
      'asked rollback:hotel',
      'completed rollback:hotel#1',
      'asked rollback:flight',
      'completed rollback:flight#1',
      'rolled-back',
    ]);
    expect(run.ends).toHaveLength(1);
  });

  test('run when the run is cancelled while it is suspended', async () => {
    const run = new DrivenRun(booking((step) => step.sleep('long', '1 day')));
    await run.driveOnce();
    run.cancel('they changed their minds');
    await run.toTheEnd();
    expect(undone).toHaveLength(3);
    expect(run.state.progress).toMatchObject({ status: 'cancelled', reason: 'they changed their minds' });
  });

  test('run after a cancel, when the running step function has stopped', async () => {
    const clock = new VirtualClock();
    const run = new DrivenRun(
      booking((step) =>
        step.run({ name: 'long', rollback: () => undone.push('never done') }, async ({ signal }) => {
          await clock.sleep(minutes(10), signal);
          await clock.sleep(seconds(2));
          undone.push('stopped');
        }),
      ),
      {},
      clock,
    );
    clock.later(minutes(1), () => run.cancel());
    await run.toTheEnd();
    expect(undone).toEqual(['stopped', 'rollback:car#1 a car', 'rollback:hotel#1 a hotel', 'rollback:flight#1 a flight']);
    expect(run.state.progress).toMatchObject({ status: 'cancelled' });
    expect(run.ends).toHaveLength(1);
  });

  test('do not run before a retry of the workflow, and run for steps of all attempts when it fails', async () => {
    const run = await new DrivenRun(
      booking(
        async () => {
          undone.push('failed');
          throw new Error('no');
        },
        { retryPolicy: { maximumAttempts: 2 } },
      ),
    ).toTheEnd();
    expect(undone).toEqual([
      'failed',
      'failed',
      'rollback:car#1 a car',
      'rollback:hotel#1 a hotel',
      'rollback:flight#1 a flight',
    ]);
    expect(run.failure.message).toBe('no');
  });

  test('that fail are retried, and the run reports the failed rollbacks', async () => {
    let tries = 0;
    const code = flow(async ({ step }) => {
      await step.run({ name: 'a', rollback: () => undone.push('a') }, () => 1);
      await step.run(
        {
          name: 'b',
          retryPolicy: { maximumAttempts: 3, initialInterval: '5s' },
          rollback: () => {
            tries += 1;
            throw new Error('cannot');
          },
        },
        () => 1,
      );
      throw new Error('no');
    });
    undone.length = 0;
    const run = await new DrivenRun(code).toTheEnd();
    expect(tries).toBe(3);
    expect(undone).toEqual(['a']);
    expect(run.failure).toMatchObject({ message: 'no', details: { rollbackFailures: [{ step: 'b', message: 'cannot' }] } });
    expect(run.clock.now() - run.facts.createdAt).toBe(15_000);
  });

  test.each(['die-before', 'die-after'] as const)(
    'go on where they were when the machine dies (%s) at each of their commits',
    async (fate) => {
      for (let dies = 4; dies <= 9; dies += 1) {
        const run = new DrivenRun(
          booking(async () => {
            throw new Error('no');
          }),
        );
        let turn = 0;
        run.beforeTurn = () => ((turn += 1) === dies ? fate : 'commit');
        await run.toTheEnd();
        expect(run.failure).toMatchObject({ message: 'no' });
        expect([...new Set(undone.map((each) => each.replace(/#\d/, '')))]).toEqual([
          'rollback:car a car',
          'rollback:hotel a hotel',
          'rollback:flight a flight',
        ]);
        expect(undone.length).toBeLessThanOrEqual(4);
      }
    },
  );

  test('run for steps that completed after the hand-off time, too', async () => {
    const clock = new VirtualClock();
    undone.length = 0;
    const code = flow(async ({ step }) => {
      await Promise.all([
        step.run({ name: 'late', rollback: () => undone.push('late') }, () => clock.sleep(seconds(20))),
        step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, () => {
          throw new Error('no');
        }),
      ]);
    });
    await new DrivenRun(code, { driveMs: 10_000 }, clock).toTheEnd();
    expect(undone).toEqual(['late']);
  });

  test('continue in the next workflow task after the hand-off time', async () => {
    const clock = new VirtualClock();
    undone.length = 0;
    const code = flow(async ({ step }) => {
      for (const name of ['a', 'b', 'c'])
        await step.run({ name, rollback: () => clock.sleep(seconds(10)).then(() => undone.push(name)) }, () => 1);
      throw new Error('no');
    });
    const run = await new DrivenRun(code, { driveMs: 15_000 }, clock).toTheEnd();
    expect(undone).toEqual(['c', 'b', 'a']);
    expect(run.turns.filter(({ next }) => next === 'yielded')).toHaveLength(1);
  });
});

describe('nondeterminism', () => {
  const before = flow(async ({ step }) => {
    await step.run({ name: 'first' }, () => 1);
    await step.run({ name: 'charge' }, () => 2);
    await step.runWorkflow({ name: 'ship' });
  });
  const resting = async () => {
    const run = new DrivenRun(before);
    await run.driveOnce();
    return run.history;
  };

  test.each([
    [
      'a renamed step',
      async ({ step }) => {
        await step.run({ name: 'first' }, () => 1);
        await step.run({ name: 'bill' }, () => 2);
      },
      2,
      { key: 'charge', kind: 'function' },
      { key: 'bill', kind: 'function' },
    ],
    [
      'a removed step',
      async ({ step }) => {
        await step.run({ name: 'first' }, () => 1);
        return 'done';
      },
      2,
      { key: 'charge', kind: 'function' },
      null,
    ],
    [
      'an additional step',
      async ({ step }) => {
        await step.run({ name: 'zeroth' }, () => 1);
        await step.run({ name: 'first' }, () => 1);
      },
      1,
      { key: 'first', kind: 'function' },
      { key: 'zeroth', kind: 'function' },
    ],
    [
      'another kind of step',
      async ({ step }) => {
        await step.run({ name: 'first' }, () => 1);
        await step.sleep('charge', 5);
      },
      2,
      { key: 'charge', kind: 'function' },
      { key: 'charge', kind: 'sleep' },
    ],
    [
      'another workflow that is called',
      async ({ step }) => {
        await step.run({ name: 'first' }, () => 1);
        await step.run({ name: 'charge' }, () => 1);
        await step.runWorkflow({ name: 'send' }, null, { name: 'ship' });
      },
      3,
      { key: 'ship', kind: 'workflow', target: 'ship' },
      { key: 'ship', kind: 'workflow', target: 'send' },
    ],
    [
      'code that throws first',
      async () => {
        throw new Error('x');
      },
      1,
      { key: 'first', kind: 'function' },
      null,
    ],
    [
      'code that never requests it',
      async () => {
        await new Promise(() => {});
      },
      1,
      { key: 'first', kind: 'function' },
      null,
    ],
  ] satisfies [string, WorkflowFunction<unknown, unknown>, number, object, object | null][])(
    '%s is reported with both steps and the deployment, and nothing is committed',
    async (_what, fn, position, recorded, asked) => {
      const { end, turn, waitedMs } = await replayOnly(flow(fn), await resting());
      expect(end).toMatchObject({
        kind: 'nondeterministic',
        details: { deploymentId: 'dep-2', position, recorded, requested: asked },
      });
      expect(end).toMatchObject({
        message: expect.stringMatching(
          new RegExp(`^step ${position} of this run is .*, but the code of deployment dep-2 `),
        ) as string,
      });
      expect(turn).toBeUndefined();
      expect(waitedMs).toBe(_what === 'code that never requests it' ? 30_000 : 0);
    },
  );

  test('a run that has diverged continues with the right code', async () => {
    const run = new DrivenRun(before, { children: { ship: () => ({ status: 'completed', output: 'shipped' }) } });
    await run.driveOnce();
    await run.wakeDue();
    run.workflows = flow(async ({ step }) => step.run({ name: 'other' }, () => 1));
    await run.driveOnce();
    expect(run.ends.at(-1)).toMatchObject({ kind: 'nondeterministic' });
    run.workflows = before;
    await run.toTheEnd();
    expect(run.output).toBe(null);
    expect(run.clock.now() - run.facts.createdAt).toBe(5_000);
  });

  test('a step beyond the history is new', async () => {
    const { asked } = await replayOnly(
      flow(async ({ step }) => {
        await step.run({ name: 'first' }, () => 1);
        await step.run({ name: 'charge' }, () => 2);
        await Promise.all([step.runWorkflow({ name: 'ship' }), step.run({ name: 'new' }, () => 3)]);
      }),
      await resting(),
    );
    expect(asked).toEqual(['new']);
  });

  test('the next attempt of a workflow cannot reuse a key for another step', async () => {
    const code = flow(
      async ({ step, run }) => {
        if (run.attempt === 1) await step.run({ name: 'a' }, () => 1);
        else await step.sleep('a', 5);
        throw new Error('no');
      },
      { retryPolicy: { maximumAttempts: 2 } },
    );
    const run = new DrivenRun(code);
    await run.driveOnce();
    run.clock.skipTo(run.openNodes[0]?.status === 'queued' ? (run.openNodes[0].notBefore ?? run.clock.now()) : run.clock.now());
    await run.driveOnce();
    expect(run.ends.at(-1)).toMatchObject({
      kind: 'nondeterministic',
      details: { recorded: { key: 'a', kind: 'function' }, requested: { key: 'a', kind: 'sleep' } },
    });
  });
});

describe('invalid workflows', () => {
  const some = defineWorkflow({ name: 'test', version: '1' }, () => 1);
  const empty = { entries: [], priorResults: [], open: [], attempt: 1, stepAttempts: 0 } as never;
  test.each([
    ['no list', { test: some }, 'unloadable', 'exports no array'],
    ['something else in it', [some, {}], 'unloadable', 'workflows[1]'],
    ['no such workflow', [], 'unknown_workflow', 'no workflow test'],
    ['no such version', [some], 'unknown_workflow', 'no workflow test'],
    [
      'a policy that is none',
      [defineWorkflow({ name: 'test', retryPolicy: { maximumAttempts: -1 } }, () => 1)],
      'unloadable',
      'maximumAttempts',
    ],
  ])('%s: the error is reported, and nothing is committed', async (_what, workflows, kind, message) => {
    const { end, turn } = await replayOnly(workflows, empty);
    expect(end).toMatchObject({ kind, message: expect.stringContaining(message) as string });
    expect(turn).toBeUndefined();
  });

  test('of two workflows with one name the last is used, and each version is separate', async () => {
    const all = [defineWorkflow({ name: 'test' }, () => 'old'), some, defineWorkflow({ name: 'test' }, () => 'new')];
    expect((await replayOnly(all, empty)).turn?.entries).toEqual([{ kind: 'returned', output: 'new' }]);
    expect((await replayOnly(all, empty, { version: '1' })).turn?.entries).toEqual([{ kind: 'returned', output: 1 }]);
  });

  test('an error of the host ends the workflow task as crashed', async () => {
    const run = new DrivenRun(flow(async ({ step }) => step.run({ name: 'a', retryPolicy: { maximumAttempts: 1 } }, () => 1)));
    run.beforeTurn = () => {
      if (run.turns.length === 0 && run.ends.length === 0) throw new Error('the line is cut');
      return 'commit';
    };
    await run.toTheEnd();
    expect(run.ends[0]).toEqual({ kind: 'crashed', message: 'the line is cut', running: [] });
    expect(run.output).toBe(1);
  });

  test('a failing step that the code does not await has no effect', async () => {
    const code = flow(async ({ step }) => {
      void step.run({ name: 'audit', retryPolicy: { maximumAttempts: 1 } }, () => {
        throw new Error('no code catches it');
      });
      await step.run({ name: 'work' }, () => new Promise((resolve) => setImmediate(() => resolve(durationMs(1)))));
      return 'done';
    });
    const run = await new DrivenRun(code).toTheEnd();
    expect(run.output).toBe('done');
    expect(run.node('audit')).toMatchObject({ status: 'failed' });
  });
});
