/** Reruns of code from a step: the copied log replays without divergence, and steps that it contains do not run again. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RerunPoint, copiedEvents, rerunFromStep } from '../../lib/engine/durable/rerun-from-step.ts';
import { runId } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { type Step, type WorkflowFunction, defineWorkflow } from '../../lib/sdk/index.ts';
import { theRun } from '../engine/graph-run-fixture.ts';
import { DrivenRun, type Options } from './driven-run.ts';
import { programs, workflowOf } from './random-program.ts';
import { VirtualClock } from './virtual-clock.ts';

const sourceId = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAW');
const childId = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV');

/** The history of a rerun, or why it is refused. */
const historyFor = (source: DrivenRun, from: string, results: RerunPoint['results'] = {}) =>
  rerunFromStep(source.commits, { from, results });

/** Reruns the source on this code. */
async function rerun(
  source: DrivenRun,
  point: Partial<RerunPoint> & { readonly from: string },
  code: unknown,
  options: Options = {},
) {
  const history = historyFor(source, point.from, point.results);
  if (history.kind !== 'history') throw new Error(history.kind);
  const copied = copiedEvents(history.entries, { sourceRun: sourceId, run: theRun, childRunId: () => childId });
  const run = new DrivenRun(code, { ...options, copied });
  return run.toTheEnd();
}

/** A workflow of named steps that records which of them run. */
class Recorded {
  readonly ran: string[] = [];
  readonly failing = new Set<string>();

  step(step: Step, name: string, more: object = {}): Promise<string> {
    return step.run({ name, retryPolicy: { maximumAttempts: 1 }, ...more }, () => {
      this.ran.push(name);
      if (this.failing.has(name)) throw new Error(`no ${name}`);
      return `${name} done`;
    });
  }

  code(fn: (step: Step) => Promise<unknown>, spec: object = {}) {
    const workflow: WorkflowFunction<unknown, unknown> = ({ step }) => fn(step);
    return [defineWorkflow({ name: 'test', ...spec }, workflow)];
  }

  /** Forgets what ran and lets all steps succeed. */
  repair(): void {
    this.ran.length = 0;
    this.failing.clear();
  }
}

async function failedAt(name: string, fn: (recorded: Recorded, step: Step) => Promise<unknown>, spec: object = {}) {
  const recorded = new Recorded();
  recorded.failing.add(name);
  const code = recorded.code((step) => fn(recorded, step), spec);
  const source = await new DrivenRun(code, { children }).toTheEnd();
  expect(source.hasEnded).toBe(true);
  recorded.repair();
  return { recorded, code, source };
}

const children = { child: (input: JsonValue) => ({ status: 'completed' as const, output: { of: input } }) };

const chain = async (recorded: Recorded, step: Step) => [
  await recorded.step(step, 'a'),
  await recorded.step(step, 'b'),
  await recorded.step(step, 'c'),
  await recorded.step(step, 'd'),
];

describe('a rerun from a step', () => {
  test('keeps the results before the step, and runs the step and what follows', async () => {
    const { recorded, code, source } = await failedAt('c', chain);
    const run = await rerun(source, { from: 'c' }, code);
    expect(recorded.ran).toEqual(['c', 'd']);
    expect(run.output).toEqual(['a done', 'b done', 'c done', 'd done']);
  });

  test('uses a replaced result of a kept step, or of the step itself', async () => {
    const { recorded, code, source } = await failedAt('c', chain);
    const run = await rerun(source, { from: 'c', results: { a: { other: 1 }, c: 'by hand' } }, code);
    expect(recorded.ran).toEqual(['d']);
    expect(run.output).toEqual([{ other: 1 }, 'b done', 'by hand', 'd done']);
  });

  test('of a completed run starts at a step in the middle', async () => {
    const { recorded, code, source } = await failedAt('none', chain);
    await rerun(source, { from: 'b' }, code);
    expect(recorded.ran).toEqual(['b', 'c', 'd']);
  });

  test('keeps what ran beside the step, and runs again what failed beside it later', async () => {
    const beside = async (recorded: Recorded, step: Step) => [
      await Promise.all([recorded.step(step, 'charge'), recorded.step(step, 'mail').then(() => recorded.step(step, 'note'))]),
      await recorded.step(step, 'end'),
    ];
    const { recorded, code, source } = await failedAt('charge', beside);
    const run = await rerun(source, { from: 'charge' }, code);
    expect(recorded.ran.toSorted()).toEqual(['charge', 'end', ...(source.node('note') === undefined ? ['note'] : [])]);
    expect(run.output).toEqual([['charge done', 'note done'], 'end done']);
  });

  test('keeps a failure that the code handled', async () => {
    const handled = async (recorded: Recorded, step: Step) => {
      const first = await recorded.step(step, 'a').catch(() => recorded.step(step, 'instead'));
      return [first, await recorded.step(step, 'c')];
    };
    const { recorded, code, source } = await failedAt('a', handled);
    const run = await rerun(source, { from: 'c' }, code);
    expect(recorded.ran).toEqual(['c']);
    expect(run.output).toEqual(['instead done', 'c done']);
  });

  test('copies sleeps, signals and calls that ended as results', async () => {
    const waiting = async (recorded: Recorded, step: Step) => {
      await step.sleep('nap', '1 day');
      const heard = await step.waitForSignal({ signal: 'go', timeout: '1 hour' });
      const called = await step.runWorkflow<string, string, string>({ name: 'child' }, 'x');
      return [heard, called, await recorded.step(step, 'end')];
    };
    const { code, source } = await failedAt('end', waiting);
    const run = await rerun(source, { from: 'end' }, code);
    expect(run.said).toEqual(['asked end', 'completed end#1', 'returned']);
    expect(run.output).toEqual([null, { of: 'x' }, 'end done']);
    const replaced = await rerun(source, { from: 'end', results: { go: { sum: 5 }, nap: 1, child: 'called' } }, code);
    expect(replaced.output).toEqual([{ data: { sum: 5 } }, 'called', 'end done']);
  });

  test('continues open steps, waits and calls beside the kept ones', async () => {
    const open = async (recorded: Recorded, step: Step) => {
      const race = [
        recorded.step(step, 'bad').catch(() => 'bad'),
        step.sleep('nap', '1 day').then(() => 'nap'),
        step.waitForSignal({ signal: 'go' }),
        step.runWorkflow<string, string, string>({ name: 'other' }, 'x'),
        recorded.step(step, 'good'),
      ];
      await Promise.all([race[0], race[4]]);
      await recorded.step(step, 'end');
      return Promise.all(race);
    };
    const { recorded, code, source } = await failedAt('end', open);
    const run = await rerun(source, { from: 'bad' }, code, { children: { other: children.child } });
    expect(recorded.ran).toEqual(['bad', 'end']);
    run.signal('go', 5);
    await run.toTheEnd();
    expect(run.output).toEqual(['bad done', 'nap', { data: 5 }, { of: 'x' }, 'good done']);
    const history = historyFor(source, 'bad');
    if (history.kind !== 'history') throw new Error(history.kind);
    const events = copiedEvents(history.entries, { sourceRun: theRun, run: sourceId, childRunId: () => childId });
    // The default correlation of a signal is the id of the run that waits.
    expect(events.find(({ type }) => type === 'SIGNAL_AWAITED')).toMatchObject({ correlation: sourceId });
  });

  test('keeps the results of earlier attempts of the workflow', async () => {
    const { recorded, code, source } = await failedAt('c', chain, { retryPolicy: { maximumAttempts: 3 } });
    expect(source.state.code?.attempt).toBe(3);
    const run = await rerun(source, { from: 'c' }, code);
    expect(recorded.ran).toEqual(['c', 'd']);
    expect(run.state.code?.attempt).toBe(3);
    const second = await rerun(source, { from: 'b' }, code);
    expect(second.output).toEqual(['a done', 'b done', 'c done', 'd done']);
  });

  test('leaves out what an attempt of the workflow had not completed, unless it starts there', async () => {
    const code = [
      defineWorkflow({ name: 'test', retryPolicy: { maximumAttempts: 2 } }, async ({ step, run }) => {
        await step.run({ name: 'a' }, () => 1);
        if (run.attempt === 2)
          await step.run({ name: 'second', retryPolicy: { maximumAttempts: 1 } }, () => Promise.reject(new Error('no')));
        const bad = () => Promise.reject(new Error('no'));
        await Promise.all([step.sleep('nap', '1 day'), step.run({ name: 'bad', retryPolicy: { maximumAttempts: 1 } }, bad)]);
      }),
    ];
    const source = await new DrivenRun(code).toTheEnd();
    const keysFrom = (from: string): readonly string[] => {
      const history = historyFor(source, from);
      if (history.kind !== 'history') throw new Error(history.kind);
      return history.entries.map((entry) =>
        entry.kind === 'begun' || entry.kind === 'open' ? `${entry.kind} ${entry.step.key}` : entry.kind,
      );
    };
    expect(keysFrom('second')).toEqual(['begun a', 'ended', 'retried']);
    expect(keysFrom('bad')).toEqual(['begun a', 'ended']);
    expect(keysFrom('nap')).toEqual(['begun a', 'ended', 'open nap', 'begun bad', 'ended']);
  });

  test('on code that requests another step before it diverges, with both steps named', async () => {
    const { recorded, source } = await failedAt('c', chain);
    const other = recorded.code(async (step) => [await recorded.step(step, 'a'), await recorded.step(step, 'x')]);
    const history = historyFor(source, 'c');
    if (history.kind !== 'history') throw new Error(history.kind);
    const copied = copiedEvents(history.entries, { sourceRun: sourceId, run: theRun, childRunId: () => childId });
    const run = new DrivenRun(other, { copied });
    await run.driveOnce();
    expect(run.ends).toMatchObject([{ kind: 'nondeterministic', details: { recorded: { key: 'b' }, requested: { key: 'x' } } }]);
    expect(recorded.ran).toEqual([]);
  });

  test('on code that replaces the step itself does not diverge', async () => {
    const { recorded, source } = await failedAt('c', chain);
    const mended = recorded.code(async (step) => [
      await recorded.step(step, 'a'),
      await recorded.step(step, 'b'),
      await recorded.step(step, 'c2'),
    ]);
    const run = await rerun(source, { from: 'c' }, mended);
    expect(run.output).toEqual(['a done', 'b done', 'c2 done']);
    expect(recorded.ran).toEqual(['c2']);
  });
});

describe('steps with a rollback', () => {
  const undone: string[] = [];
  const withRollback = async (recorded: Recorded, step: Step) => {
    await recorded.step(step, 'pay', { rollback: () => void undone.push('pay') });
    await recorded.step(step, 'ship');
    return recorded.step(step, 'end');
  };

  test('are rolled back by the new run if it fails', async () => {
    undone.length = 0;
    const { recorded, code, source } = await failedAt('none', withRollback);
    recorded.failing.add('ship');
    const run = await rerun(source, { from: 'ship' }, code);
    expect(run.failure.message).toContain('no ship');
    expect(undone).toEqual(['pay']);
  });

  test('that the earlier run rolled back are not kept, unless their result is replaced', async () => {
    const { recorded, code, source } = await failedAt('ship', withRollback);
    expect(historyFor(source, 'ship')).toEqual({ kind: 'step_rolled_back', step: 'pay' });
    await rerun(source, { from: 'ship', results: { pay: 'paid by hand' } }, code);
    expect(recorded.ran).toEqual(['ship', 'end']);
    recorded.repair();
    await rerun(source, { from: 'pay' }, code);
    expect(recorded.ran).toEqual(['pay', 'ship', 'end']);
  });
});

test('a step that never began, a workflow task and a rollback are no steps to start from', async () => {
  const { source } = await failedAt('c', chain);
  for (const from of ['d', '.workflow-task.1', 'missing'])
    expect(historyFor(source, from)).toEqual({ kind: 'step_not_found', step: from });
  expect(historyFor(source, 'b', { c: 1, a: 2, x: 3 })).toEqual({ kind: 'results_not_kept', steps: ['c', 'x'] });
});

test('random programs, rerun from any step: nothing diverges and no kept step runs again', { timeout: 60_000 }, async () => {
  const all = programs(['seq', 'all', 'allSettled', 'race', 'any']);
  await fc.assert(
    fc.asyncProperty(all, fc.nat(), async (part, pick) => {
      const play = async (copied?: Options['copied']): Promise<DrivenRun> => {
        const clock = new VirtualClock();
        const run: DrivenRun = new DrivenRun([], { children, ...(copied === undefined ? {} : { copied }) }, clock);
        run.workflows = [
          workflowOf(part, clock, ({ key }) => {
            if (run.node(key)?.status === 'completed') throw new Error(`${key} is done again`);
          }),
        ];
        for (let round = 0; !run.hasEnded && round < 50; round += 1) {
          await run.toTheEnd();
          if (!run.hasEnded) run.signal('go', 'now');
        }
        expect(run.ends.filter(({ kind }) => kind !== 'finished')).toEqual([]);
        expect(run.hasEnded).toBe(true);
        return run;
      };
      const source = await play();
      const keys = source.said.flatMap((said) => (said.startsWith('asked ') ? [said.slice(6)] : []));
      const from = keys[pick % Math.max(1, keys.length)];
      if (from === undefined) return;
      const history = historyFor(source, from);
      if (history.kind !== 'history') throw new Error(history.kind);
      const copied = copiedEvents(history.entries, { sourceRun: sourceId, run: theRun, childRunId: () => childId });
      if (copied.length > 0) await play(copied);
    }),
    { numRuns: 300 },
  );
});
