/**
 * A command batch may be larger than a commit: a thousand steps that end together, each with the longest failure or output. It is then
 * committed in parts that each fit a DynamoDB item, and the run ends.
 */
import { describe, expect, test } from 'vitest';
import { pack, packedBytes } from '../../lib/codec/packed.ts';
import type { Command, CommandBatch, CommandBatchEntry } from '../../lib/engine/durable/command-batch.ts';
import { type RunAddress, firstAttempt, nodeId, topLevel, maxSignalTextLength } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { printedLimits } from '../../lib/engine/log/event-limits.ts';
import { after, durationMs, minutes } from '../../lib/engine/time.ts';
import type { Programs } from '../../lib/ports/programs.ts';
import { append } from '../../lib/service/run-log/append.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { maxCommitBytes } from '../../lib/service/run-log/payloads.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { startCodeRun, codeManifest, commitsOf, deploy } from './code-test-env.ts';
import { type TestEnv, createTestEnv, workflow } from './test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import {
  type StepFunction,
  WorkflowTaskCrash,
  type ScriptStage,
  ScriptedPrograms,
  RetryAfter,
  functionCommand,
} from './scripted-programs.ts';

const startAt = createTestEnv().ports.clock.now();

/** Seeded random values. */
function draws(seed: number) {
  let state = seed;
  const below = (most: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % most;
  };
  return {
    below,
    /** Characters without a pattern, of three UTF-8 bytes each, which compress little. */
    noise: (length: number): string => Array.from({ length }, () => String.fromCharCode(0x4e00 + below(20_000))).join(''),
  };
}
const { noise } = draws(7);

/** The largest failure of a step. */
function verbose(entry: CommandBatchEntry): CommandBatchEntry {
  if (entry.kind !== 'completed' && entry.kind !== 'failed' && entry.kind !== 'retried') return entry;
  const printed = [noise(Math.floor(printedLimits.bytes / 3))];
  return entry.kind === 'completed'
    ? { ...entry, printed }
    : { ...entry, printed, failure: { ...entry.failure, message: noise(3_000) } };
}

interface Extras {
  readonly stepFunction?: StepFunction;
  /** additional content of the command batches */
  readonly change?: (entry: CommandBatchEntry) => CommandBatchEntry;
}

/** Scripted code with additional content in its command batches. */
class VerboseCode implements Programs {
  readonly staged: ScriptedPrograms;
  readonly #change: (entry: CommandBatchEntry) => CommandBatchEntry;

  constructor(
    clock: () => TestEnv['ports']['clock'],
    stages: readonly ScriptStage[],
    { stepFunction, change = (entry) => entry }: Extras = {},
  ) {
    this.staged = new ScriptedPrograms(clock, stages, stepFunction);
    this.#change = change;
  }

  start(...[scope, manifest, task, host]: Parameters<Programs['start']>): ReturnType<Programs['start']> {
    return this.staged.start(scope, manifest, task, {
      commitBatch: (batch: CommandBatch) => host.commitBatch({ ...batch, entries: batch.entries.map(this.#change) }),
      perform: (command) => host.perform(command),
    });
  }
}

async function played(stages: readonly ScriptStage[], extras: Extras = {}) {
  const code = new VerboseCode(() => env.ports.clock, stages, extras);
  const { env, run }: Awaited<ReturnType<typeof startCodeRun>> = await startCodeRun([], { programs: code });
  for (const job of env.ports.jobs.takeMessages()) await env.take(job);
  return { env, run, code };
}

async function settled(...given: Parameters<typeof played>) {
  const all = await played(...given);
  await all.env.settle();
  return all;
}

async function eventsOf(env: Pick<TestEnv, 'ports'>, run: RunAddress): Promise<readonly RunEvent[]> {
  const commits = await commitsOf(env, run);
  for (const { number, events } of commits) {
    expect(packedBytes(pack(events)), `commit ${number}`).toBeLessThanOrEqual(maxCommitBytes);
  }
  return commits.flatMap(({ events }) => events);
}

const counted = (events: readonly RunEvent[], type: RunEvent['type']): number =>
  events.filter((event) => event.type === type).length;

const functions = (count: number): ScriptStage => Array.from({ length: count }, (_one, at) => functionCommand(`s${at}`));

describe('a command batch larger than a commit is written in parts', () => {
  test('of a thousand steps that fail at the longest message', async () => {
    const stepFunction = () => {
      throw new Error('no');
    };
    const { env, run } = await settled([functions(1_000)], { stepFunction, change: verbose });
    const events = await eventsOf(env, run);
    expect(counted(events, 'NODE_FAILED')).toBe(1_000);
    expect(events.at(-1)?.type).toBe('RUN_FAILED');
  });

  test('of a thousand steps that each print the maximum', async () => {
    const { env, run } = await settled([functions(1_000)], { change: verbose });
    const events = await eventsOf(env, run);
    // The steps and the workflow task.
    expect(counted(events, 'NODE_COMPLETED')).toBe(1_001);
    expect(events.at(-1)?.type).toBe('RUN_COMPLETED');
  });

  test('of a thousand waits with the longest names', async () => {
    const waits: ScriptStage = Array.from({ length: 1_000 }, (_, at) => ({
      kind: 'signal-wait',
      key: `${noise(250)}${at}`,
      signal: noise(maxSignalTextLength),
      correlation: noise(maxSignalTextLength),
      expiresAt: after(startAt, minutes(1)),
    }));
    const { env, run } = await settled([waits]);
    expect(counted(await eventsOf(env, run), 'SIGNAL_AWAITED')).toBe(1_000);
  });

  test('and one that fits is one commit, even with a thousand steps', async () => {
    const { env, run } = await settled([functions(1_000)]);
    // The start, the scheduled steps, and the results.
    expect(await commitsOf(env, run)).toHaveLength(3);
    await eventsOf(env, run);
  });
});

test('a thousand steps whose thread crashed fail in one commit, and only a few contain the whole reason', async () => {
  let hasBroken = false;
  const stepFunction: StepFunction = async (key) => {
    if (hasBroken) return key;
    await new Promise((resolve) => setImmediate(resolve));
    hasBroken = true;
    throw new WorkflowTaskCrash(noise(2_000));
  };
  const { env, run } = await played([functions(1_000)], { stepFunction });
  const events = await eventsOf(env, run);
  const messages = events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure.message] : []));
  expect(messages).toHaveLength(1_000);
  expect(messages.filter((message) => message.length === 2_000)).toHaveLength(5);
  expect(new Set(messages.map((message) => message.slice(0, 200))).size).toBe(1);
});

describe('a part that is too large for a commit', () => {
  const asked: Command = { kind: 'signal-wait', key: noise(200_000), signal: 'go', correlation: '1' };

  test('fails the run with a code, and its message is not redelivered', async () => {
    const { env, run, code } = await settled([[asked]]);
    const { state } = await env.fold(run);
    expect(state.progress).toMatchObject({ status: 'failed', error: { cause: 'invalid', code: 'commit_too_large' } });
    expect(code.staged.tasks).toHaveLength(1);
    expect((await eventsOf(env, run)).at(-1)?.type).toBe('RUN_FAILED');
    expect((await env.ports.log.head(run))?.projection.status).toBe('failed');
  });

  test('fails the run after the rollback', async () => {
    const { env, run } = await settled([[functionCommand('done', { hasRollback: true })], [asked]]);
    const events = await eventsOf(env, run);
    const undone = events.flatMap((event) => (event.type === 'NODE_COMPLETED' ? [event.nodeId] : []));
    expect(undone).toContain('rollback:done');
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'commit_too_large' } });
  });
});

test('a graph run’s events that are too large for a commit fail the run with a code too', async () => {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>e'));
  const run = await env.begin('flow');
  const words = (at: number): RunEvent => ({
    type: 'SIGNAL_AWAITED',
    nodeId: nodeId(`n${at}`),
    iteration: topLevel,
    attempt: firstAttempt,
    name: noise(maxSignalTextLength),
    correlation: noise(maxSignalTextLength),
  });
  const fold = await env.fold(run);
  const appended = await append(env.deps, fold, 'test', () => Array.from({ length: 600 }, (_one, at) => words(at)));
  expect(appended.kind).toBe('committed');
  const events = await eventsOf(env, run);
  expect(events.slice(-2)).toMatchObject([
    { type: 'RUN_STATUS_CHANGED', status: 'failed' },
    { type: 'RUN_FAILED', error: { cause: 'invalid', code: 'commit_too_large' } },
  ]);
});

describe('thousands of sleeps', () => {
  const sleeps: ScriptStage = Array.from({ length: 4_000 }, (_, at) => ({
    kind: 'sleep',
    key: `${noise(30)}${at}`,
    wakeAt: after(startAt, minutes(60)),
  }));

  test('are woken in several commits, and the response names each once', async () => {
    const { env, run } = await played([sleeps]);
    const answer = await wakeRun(env.worker, run);
    expect(answer.kind === 'woken' && new Set(answer.nodeIds).size).toBe(4_000);
    expect(counted(await eventsOf(env, run), 'NODE_WOKEN')).toBe(4_000);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  test('are woken by a resume', async () => {
    const { env, run } = await played([sleeps]);
    expect(await resumeRun(env.worker, run, {})).toMatchObject({ kind: 'resumed' });
    expect(counted(await eventsOf(env, run), 'NODE_WOKEN')).toBe(4_000);
  });

  test('end with a cancellation', async () => {
    const { env, run } = await played([sleeps]);
    await cancelRun(env.worker, run, noise(5_000));
    await eventsOf(env, run);
    expect((await env.fold(run)).state.progress.status).toBe('cancelled');
  });
});

/** Seeded stages of all kinds of commands, and their results. */
function drawnRun(seed: number): { readonly stages: readonly ScriptStage[]; readonly extras: Extras } {
  const { below, noise: drawnNoise } = draws(seed * 7_919 + 1);
  const texts = [3, 40, 250].map((length) => () => drawnNoise(length));
  const name = (at: string): string => `${texts[below(3)]?.() ?? ''}${at}`;
  const command = (at: string): Command => {
    const key = name(at);
    switch (below(6)) {
      case 0:
        return { kind: 'sleep', key, wakeAt: after(startAt, durationMs(below(600_000))) };
      case 1:
        return {
          kind: 'signal-wait',
          key,
          signal: name('signal'),
          correlation: name('1'),
          expiresAt: after(startAt, durationMs(below(600_000))),
        };
      case 2:
        return { kind: 'signal-send', key, signal: name('sent'), correlation: name('1'), data: drawnNoise(below(3_000)) };
      default:
        return functionCommand(key, below(9) === 0 ? { hasRollback: true } : {});
    }
  };
  const stages = Array.from({ length: 1 + below(3) }, (_, stage) =>
    Array.from({ length: 1 + below(250) }, (_one, at) => command(`${stage}.${at}`)),
  );
  const [failureInterval, retryInterval] = [below(3) === 0 ? 50 : Infinity, below(2) === 0 ? 7 : Infinity];
  let executions = 0;
  const stepFunction: StepFunction = (key, attempt) => {
    executions += 1;
    if (executions % retryInterval === 0 && attempt === 1 && !key.startsWith('rollback:')) throw new RetryAfter(durationMs(0));
    if (executions % failureInterval === 0 && !key.startsWith('rollback:')) throw new Error(drawnNoise(below(3_000)));
    return drawnNoise(below(4) === 0 ? below(30_000) : below(200));
  };
  const change = (entry: CommandBatchEntry): CommandBatchEntry =>
    'startedAt' in entry && below(2) === 0 ? { ...entry, printed: [drawnNoise(below(5_000))] } : entry;
  return { stages, extras: { stepFunction, change } };
}

test.each(Array.from({ length: 12 }, (_, seed) => seed))(
  'each commit of a run with large command batches fits an item, and the run ends: seed %i',
  async (seed) => {
    const { stages, extras } = drawnRun(seed);
    const { env, run } = await settled(stages, extras);
    await eventsOf(env, run);
    expect(isTerminal((await env.fold(run)).state.progress)).toBe(true);
  },
);

describe('a command batch in parts, whose writer crashes at any call', { timeout: 120_000 }, () => {
  const stages: readonly ScriptStage[] = [
    [functionCommand('first', { hasRollback: true })],
    [...functions(30), { kind: 'sleep', key: 'nap', wakeAt: after(startAt, minutes(1)) }],
    [functionCommand('last')],
  ];

  async function story(aim: CrashPoint | undefined) {
    const code = new VerboseCode(() => env.ports.clock, stages, { change: verbose });
    const env: TestEnv = createTestEnv({ programs: code });
    const processes = new CrashableProcesses(env.deps, aim);
    const worker = (deps = processes.start()) => ({ ...env.worker, deps, foldCache: new FoldCache() });
    await deploy(env, codeManifest('v1'));
    const run = await env.begin('order');
    const { jobs, timers, clock } = env.ports;
    for (let round = 0; round < 30 && !isTerminal((await env.fold(run)).state.progress); round += 1) {
      const back: Parameters<TestEnv['take']>[0][] = [];
      const fresh = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
      for (const job of fresh) if (!(await survives(env.take(job, { worker: worker() })))) back.push(job);
      for (const job of back) await env.take(job, { isRedelivered: true, worker: worker(env.deps) });
      if (fresh.length > 0) continue;
      clock.advance(minutes(2));
      await sweepRuns(worker(env.deps), after(clock.now(), minutes(1)));
    }
    return { env, run, calls: processes.calls, code };
  }

  const expected = stages
    .flat()
    .map(({ key }) => key)
    .toSorted();

  test('ends the same way, and each step ends once', async () => {
    const whole = await story(undefined);
    const parts = (await commitsOf(whole.env, whole.run)).filter(({ events }) => counted(events, 'NODE_COMPLETED') > 1);
    expect(parts.length).toBeGreaterThan(2);
    expect(whole.calls).toBeGreaterThan(20);
    for (let call = 1; call <= whole.calls; call += 1)
      for (const kind of ['before', 'after'] as const) {
        const where = `${kind} call ${call}`;
        const { env, run } = await story({ call, kind });
        const events = await eventsOf(env, run);
        const ended = events.flatMap((event) =>
          event.type === 'NODE_COMPLETED' && !event.nodeId.startsWith('.') ? [event.nodeId] : [],
        );
        expect(ended.toSorted(), where).toEqual(expected);
        expect((await env.fold(run)).state.progress.status, where).toBe('completed');
      }
  });
});
