/** Starts of a batch: they share one due entry, and each run that exists is due for the sweep, whenever the process crashes. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type RunAddress, workflowName } from '../../../lib/engine/ids.ts';
import { minuteOf } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { type DurationMs, after, durationMs, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { type BatchStart, startBatch } from '../../../lib/service/runs/start-batch.ts';
import { overrideMethods } from '../override-methods.ts';
import { type TestEnv, createTestEnv, scope, workflow } from '../test-env.ts';

const starts = (count: number): readonly BatchStart[] =>
  Array.from({ length: count }, (_, index) => ({
    scope,
    idempotencyKey: `k${index}`,
    bodyHash: `h${index}`,
    workflowName: workflowName('flow'),
    input: {},
  }));

/** Writes in their order: `due 10` for an entry of ten runs, `head` for a head. */
async function watchedEnv(wrap: (deps: Deps) => Deps = (deps) => deps) {
  const written: string[] = [];
  const heads: RunAddress[] = [];
  const env = createTestEnv({
    wrap: (plain) => {
      const deps = wrap(plain);
      return {
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            await deps.index.markDue(entry);
            written.push('due 1');
          },
          markDueTogether: async (entry) => {
            await deps.index.markDueTogether(entry);
            written.push(`due ${entry.runIds.length}`);
          },
        }),
        log: overrideMethods(deps.log, {
          create: async (run) => {
            const result = await deps.log.create(run);
            if (result.kind === 'stored') heads.push(run.address);
            written.push('head');
            return result;
          },
        }),
      };
    },
  });
  await env.publish(workflow('flow', 'a>b'));
  return { env, written, heads, start: (requests: readonly BatchStart[]) => startBatch(env.worker, requests) };
}

const heads = (count: number): readonly string[] => Array.from({ length: count }, () => 'head');
const kinds = (outcomes: readonly { readonly kind: string }[]): readonly string[] => outcomes.map(({ kind }) => kind);

/** The runs that are due after this minute of the clock. */
async function dueLater({ ports }: TestEnv): Promise<ReadonlySet<string>> {
  const now = minuteOf(ports.clock.now());
  const found = await Promise.all(Array.from({ length: 5 }, (_, minute) => ports.index.dueIn(now + minute)));
  return new Set(found.flat().map(({ runId }) => runId));
}

describe('the due entry of a batch', () => {
  it('is one for ten starts, and stored before each head', async () => {
    const { start, written, heads: stored, env } = await watchedEnv();
    expect(new Set(kinds(await start(starts(25))))).toEqual(new Set(['started']));
    expect(written).toEqual(['due 10', ...heads(10), 'due 10', ...heads(10), 'due 5', ...heads(5)]);
    const due = await dueLater(env);
    expect(stored.filter(({ runId }) => !due.has(runId))).toEqual([]);
  });

  it('does not wait for a start that is refused, or whose store is unavailable', async () => {
    let reserved = 0;
    const { start, written } = await watchedEnv((deps) => ({
      ...deps,
      reservations: overrideMethods(deps.reservations, {
        reserve: async (...reservation) => {
          reserved += 1;
          if (reserved === 2) throw new Unavailable('the control table');
          return deps.reservations.reserve(...reservation);
        },
      }),
    }));
    const [first, ...rest] = starts(4);
    if (first === undefined) throw new Error('there is no start');
    const outcomes = await start([{ ...first, workflowName: workflowName('unknown') }, ...rest]);
    expect(kinds(outcomes)).toEqual(['no_active_deployment', 'unavailable', 'started', 'started']);
    expect(written).toEqual(['due 2', 'head', 'head']);
  });

  it('waits a second for a slow start, which has an entry of its own', async () => {
    const slow = Promise.withResolvers<void>();
    const { start, written, env } = await watchedEnv((deps) => ({
      ...deps,
      reservations: overrideMethods(deps.reservations, {
        reserve: async (...reservation) => {
          if (reservation[2] === 'k1') await slow.promise;
          return deps.reservations.reserve(...reservation);
        },
      }),
    }));
    const outcomes = start(starts(4));
    await setImmediate();
    expect(written).toEqual([]);
    env.ports.clock.advance(seconds(1));
    await setImmediate();
    expect(written).toEqual(['due 3', ...heads(3)]);
    slow.resolve();
    expect(kinds(await outcomes)).toEqual(['started', 'started', 'started', 'started']);
    expect(written.slice(4)).toEqual(['due 1', 'head']);
  });

  it('is replaced by one for each start if it cannot be written', async () => {
    const { start, written } = await watchedEnv((deps) => ({
      ...deps,
      index: overrideMethods(deps.index, { markDueTogether: () => Promise.reject(new Unavailable('the runs table')) }),
    }));
    expect(new Set(kinds(await start(starts(3))))).toEqual(new Set(['started']));
    expect(written.toSorted()).toEqual(['due 1', 'due 1', 'due 1', ...heads(3)]);
    expect(written.indexOf('head')).toBeGreaterThan(0);
  });

  it('is written again for each start if the process was paused until its minute passed', async () => {
    let pause: DurationMs = minutes(10);
    const { start, written, env } = await watchedEnv((deps) => ({
      ...deps,
      index: overrideMethods(deps.index, {
        markDueTogether: async (entry) => {
          await deps.index.markDueTogether(entry);
          env.ports.clock.advance(pause);
          pause = durationMs(0);
        },
      }),
    }));
    expect(new Set(kinds(await start(starts(3))))).toEqual(new Set(['started']));
    expect(written.slice(0, 4)).toEqual(['due 3', 'due 1', 'due 1', 'due 1']);
    expect((await dueLater(env)).size).toBe(3);
  });

  it('has the latest minute of its starts', async () => {
    const slow = Promise.withResolvers<void>();
    const { start, written, env } = await watchedEnv((deps) => ({
      ...deps,
      reservations: overrideMethods(deps.reservations, {
        reserve: async (...reservation) => {
          if (reservation[2] === 'k1') await slow.promise;
          return deps.reservations.reserve(...reservation);
        },
      }),
    }));
    const nextMinute = minuteOf(env.ports.clock.now()) + 1;
    env.ports.clock.set(instant(minutes(nextMinute) - 300));
    const outcomes = start(starts(2));
    await setImmediate();
    env.ports.clock.advance(durationMs(600));
    slow.resolve();
    await outcomes;
    expect(written).toEqual(['due 2', ...heads(2)]);
    const due = await env.ports.index.dueIn(minuteOf(after(env.ports.clock.now(), minutes(2))));
    expect(due).toHaveLength(2);
  });
});

const never = new Promise<never>(() => undefined);

/** A process whose ports do nothing once it is dead, and give no more responses. */
class CrashingProcess {
  calls = 0;
  isDead = false;
  readonly #crashAt: number;
  readonly #how: Crash;

  constructor(crashAt: number, how: Crash) {
    this.#crashAt = crashAt;
    this.#how = how;
  }

  deps(deps: Deps): Deps {
    const { reservations, index, log, jobs, workflows } = deps;
    return {
      ...deps,
      reservations: this.#port(reservations),
      index: this.#port(index),
      log: this.#port(log),
      jobs: this.#port(jobs),
      workflows: this.#port(workflows),
    };
  }

  #port<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => this.#call(() => Promise.resolve(Reflect.apply(member, target, given)));
      },
    });
  }

  async #call(effect: () => Promise<unknown>): Promise<unknown> {
    this.calls += 1;
    const isLast = this.calls === this.#crashAt;
    if (this.isDead) return never;
    if (isLast && this.#how !== 'after its call') {
      this.isDead = this.#how === 'before its call';
      return never;
    }
    const answer = await effect();
    if (isLast) this.isDead = true;
    return this.isDead ? never : answer;
  }
}

/** `while its call is lost`: what the process does without the response of this call still happens. */
const crashes = ['before its call', 'after its call', 'while its call is lost'] as const;
type Crash = (typeof crashes)[number];

describe.each(crashes)('a process that crashes %s', (how) => {
  it('leaves no run that the sweep does not find and end, at whichever call of a batch it crashes', async () => {
    const whole = new CrashingProcess(Infinity, how);
    const calm = await watchedEnv((deps) => whole.deps(deps));
    await calm.start(starts(10));
    expect(whole.calls).toBeGreaterThan(30);
    const found = { none: 0, some: 0, all: 0 };
    for (let call = 1; call <= whole.calls; call += 1) {
      const { env, heads: stored } = await watchedEnv();
      await env.ports.index.recordSweptMinute(minuteOf(env.ports.clock.now()));
      const process = new CrashingProcess(call, how);
      void startBatch({ ...env.worker, deps: process.deps(env.deps) }, starts(10));
      await setImmediate();
      process.isDead = true;
      const due = await dueLater(env);
      expect(
        stored.filter(({ runId }) => !due.has(runId)),
        `call ${call}`,
      ).toEqual([]);
      found[stored.length === 0 ? 'none' : stored.length === 10 ? 'all' : 'some'] += 1;
      // Without the messages of the process, the sweep alone continues the runs.
      env.ports.jobs.takeSent();
      env.ports.clock.advance(minutes(5));
      await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(10)));
      await env.settle();
      for (const run of stored) expect((await env.ports.log.head(run))?.projection.status, `call ${call}`).toBe('completed');
    }
    // Crashes before, between and after the heads.
    expect(found.none).toBeGreaterThan(5);
    expect(found.all).toBeGreaterThan(0);
    if (how !== 'after its call') expect(found.some).toBeGreaterThan(0);
  });
});
