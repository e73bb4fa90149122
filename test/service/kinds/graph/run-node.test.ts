import { describe, expect, it } from 'vitest';
import { attempt, commitNo, nodeId, nodeKey, topLevel } from '../../../../lib/engine/ids.ts';
import { seconds } from '../../../../lib/engine/time.ts';
import type { Deps } from '../../../../lib/service/deps.ts';
import { runNode } from '../../../../lib/service/kinds/graph/run-node.ts';
import { sweepRun } from '../../../../lib/service/execution/sweep-runs.ts';
import { deadLetterAfterCrash } from '../../dead-letters.ts';
import { failing, finished, createTestEnv, jobFor, workflow } from '../../test-env.ts';
import { overrideMethods } from '../../override-methods.ts';

const keyOf = (node: string) => nodeKey({ nodeId: nodeId(node), iteration: topLevel });
const [one, two] = [attempt(1), attempt(2)];

/** Counts calls of the log by name. */
function counted(deps: Deps, counts: Record<string, number>): Deps {
  const log = new Proxy(deps.log, {
    get: (target, name: string) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        counts[name] = (counts[name] ?? 0) + 1;
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
  return { ...deps, log };
}

describe('a chain of nodes', () => {
  it('runs inline in one worker, with one put per node and one read of what followed its message', async () => {
    const counts: Record<string, number> = {};
    const env = createTestEnv({ wrap: (deps) => counted(deps, counts) });
    await env.publish(workflow('flow', 'a>b b>d d>f f>g'));
    const run = await env.begin('flow');
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1', 'd#1', 'f#1', 'g#1']);
    expect(counts).toEqual({ create: 1, recognize: 1, commitsAfter: 1, put: 5, project: 1 });
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('continues in another invocation when the time is short', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await runNode(env.worker, job, { isRedelivered: false, mustEndAt: env.ports.clock.now() });
    expect(env.ports.jobs.sent).toMatchObject([{ nodeId: 'b', commit: 2, attempt: 1 }]);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });
});

describe('a node that takes long', () => {
  it('is shown as running after a second, and sends a heartbeat every minute', async () => {
    let release: (() => void) | undefined;
    const env = createTestEnv({ answer: (node) => new Promise((resolve) => (release = () => resolve(finished(node)))) });
    await env.publish({ ...workflow('flow', 'a>e', { a: { policy: { timeoutMs: seconds(600) } } }) });
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = env.take(job);
    const pass = async (count: number) => {
      for (let second = 0; second < count; second += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        env.ports.clock.advance(seconds(1));
      }
      await new Promise((resolve) => setImmediate(resolve));
    };
    await pass(1);
    const startedAfter = env.ports.clock.now();
    expect((await env.fold(run)).state.nodes.get(keyOf('a'))).toMatchObject({ status: 'running', startedAt: startedAfter });
    expect(await env.ports.log.heartbeats(run)).toEqual([]);
    await pass(70);
    expect(await env.ports.log.heartbeats(run)).toMatchObject([{ node: 'a', resends: 0 }]);
    release?.();
    await taking;
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(state.asOf).toBe(3);
  });
});

describe('a duplicate, late or reordered job', () => {
  it('a duplicate changes nothing and sends nothing', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b a>d b>e d>e'));
    const run = await env.begin('flow');
    await env.settle();
    const before = await env.fold(run);
    await env.take(jobFor(run, 'a', commitNo(1), one));
    expect(env.ports.jobs.sent).toEqual([]);
    expect((await env.fold(run)).state.asOf).toBe(before.state.asOf);
    expect(env.attempts.filter((each) => each === 'a#1')).toHaveLength(1);
  });

  it('a redelivery dispatches the effects of the late put of its crashed worker', async () => {
    let late: (() => Promise<unknown>) | undefined;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          put: async (...given) => {
            if (late === undefined) {
              late = () => deps.log.put(...given);
              throw new Error('died here, its put on its way');
            }
            await late();
            return deps.log.put(...given);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b a>d'));
    const run = await env.begin('flow');
    await expect(env.take(jobFor(run, 'a', commitNo(1), one))).rejects.toThrow('died here');
    // Until then another worker may receive the attempt.
    env.ports.clock.advance(seconds(100));
    await env.take(jobFor(run, 'a', commitNo(1), one), { isRedelivered: true });
    expect([...(await env.fold(run)).state.open.keys()]).toEqual([keyOf('b'), keyOf('d')]);
    expect(env.ports.jobs.takeSent().slice(-2)).toMatchObject([
      { nodeId: 'b', resend: 1 },
      { nodeId: 'd', resend: 1 },
    ]);
  });

  it('a redelivered wake-up dispatches the effects of the late put of its crashed worker', async () => {
    let late: (() => Promise<unknown>) | undefined;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          put: async (...given) => {
            const [, commit] = given;
            if (!commit.events.some((event) => event.type === 'NODE_COMPLETED' && event.nodeId === 'z'))
              return deps.log.put(...given);
            if (late === undefined) {
              late = () => deps.log.put(...given);
              throw new Error('crashed here, its put in flight');
            }
            await late();
            return deps.log.put(...given);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>z z>b z>d', { z: { ms: 60_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    env.ports.clock.advance(seconds(60));
    const wake = env.ports.jobs.takeDue().find(({ kind }) => kind === 'wake');
    if (wake === undefined) throw new Error('no wake-up was sent');
    await expect(env.take(wake)).rejects.toThrow('its put in flight');
    env.ports.clock.advance(seconds(100));
    await env.take(wake, { isRedelivered: true });
    expect([...(await env.fold(run)).state.open.keys()]).toEqual([keyOf('b'), keyOf('d')]);
    expect(env.ports.jobs.takeSent()).toMatchObject([
      { nodeId: 'b', resend: 1 },
      { nodeId: 'd', resend: 1 },
    ]);
  });

  it('runs nothing if another worker ends the node while this one commits its start', async () => {
    let other: (() => Promise<void>) | undefined;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          put: async (...given) => {
            const first = other;
            other = undefined;
            await first?.();
            return deps.log.put(...given);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b', { a: { announces: true } }));
    const run = await env.begin('flow');
    other = () => env.take(jobFor(run, 'a', commitNo(1), one));
    await env.take(jobFor(run, 'a', commitNo(1), one));
    expect(env.attempts).toEqual(['a#1', 'b#1']);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it.each([
    ['its node has a recent heartbeat', 0, 30],
    ['its node was redispatched since', 1, 30],
  ])('a redelivery runs nothing if %s, and sends a recheck', async (_why, resends, agoSeconds) => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await env.ports.log.heartbeat(run, { node: keyOf('a'), at: env.ports.clock.now(), resends }, env.ports.clock.now());
    env.ports.clock.advance(seconds(agoSeconds));
    await env.take(jobFor(run, 'a', commitNo(1), one), { isRedelivered: true });
    expect([env.attempts, env.ports.jobs.delayed.map(({ job }) => job.kind)]).toEqual([[], ['recheck']]);
  });

  it.each([
    ['its node has no recent heartbeat', 0, 0, 101],
    ['it is the latest job of its node', 1, 1, 30],
  ])('a redelivery runs its node if %s', async (_why, resends, resend, agoSeconds) => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await env.ports.log.heartbeat(run, { node: keyOf('a'), at: env.ports.clock.now(), resends }, env.ports.clock.now());
    env.ports.clock.advance(seconds(agoSeconds));
    await env.take({ ...jobFor(run, 'a', commitNo(1), one), resend }, { isRedelivered: true });
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('a job of an attempt that has been retried since changes nothing', async () => {
    const env = createTestEnv({ answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)) });
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await env.settle();
    await env.take(jobFor(run, 'a', commitNo(1), one), { isRedelivered: true });
    expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1']);
  });

  it('a job that is delivered before its retry is due waits again', async () => {
    const env = createTestEnv({ answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)) });
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await env.take(job);
    await env.take(jobFor(run, 'a', commitNo(2), two));
    expect(env.attempts).toEqual(['a#1']);
    expect(env.ports.jobs.delayed).toHaveLength(2);
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1']);
  });

  it('a stale wake-up changes nothing, and an early one waits again', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 60_000 } }));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await env.take(job);
    const [wake] = env.ports.jobs.delayed;
    if (wake === undefined) throw new Error('no alarm was set');
    await env.take(wake.job);
    expect((await env.fold(run)).state.asOf).toBe(2);
    expect(env.ports.jobs.delayed).toHaveLength(2);
    await env.settle();
    const ended = await env.fold(run);
    expect(ended.state.progress.status).toBe('completed');
    await env.take(wake.job);
    expect((await env.fold(run)).state.asOf).toBe(ended.state.asOf);
  });
});

describe('a worker that is killed', () => {
  /** Ports with one call that never returns, as if the worker crashed there. */
  const killedAt = (port: 'jobs' | 'log', method: string, nth: number) => {
    let calls = 0;
    return (deps: Deps): Deps => ({
      ...deps,
      [port]: new Proxy(deps[port], {
        get: (target, name: string) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return (...given: unknown[]) => {
            calls += name === method ? 1 : 0;
            if (name === method && calls === nth) throw new Error('killed here');
            return Reflect.apply(member, target, given) as unknown;
          };
        },
      }),
    });
  };

  it('between commit and send: the redelivery redispatches timed-out nodes, and runs nothing twice', async () => {
    const env = createTestEnv({ wrap: killedAt('jobs', 'send', 2) });
    await env.publish(workflow('flow', 'a>b a>d b>e d>e'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(env.take(job)).rejects.toThrow('killed here');
    env.ports.clock.advance(seconds(960));
    await env.take(job, { isRedelivered: true });
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
    expect(env.attempts.toSorted()).toEqual(['a#1', 'b#1', 'd#1']);
  });

  it('in the middle of an inline chain: only the interrupted node runs again', async () => {
    const env = createTestEnv({ wrap: killedAt('log', 'put', 3) });
    await env.publish(workflow('flow', 'a>b b>d d>e'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(env.take(job)).rejects.toThrow('killed here');
    env.ports.clock.advance(seconds(960));
    await env.take(job, { isRedelivered: true });
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'b#1', 'd#1', 'd#1']);
  });

  it('is recovered by the sweep long before its message is redelivered, and a valid wait is not touched', async () => {
    const env = createTestEnv({ wrap: killedAt('log', 'put', 1) });
    await env.publish(workflow('flow', 'a>b a>z b>e z>e', { z: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(env.take(job)).rejects.toThrow('killed here');
    env.ports.clock.advance(seconds(60));
    expect(await sweepRun(env.worker, run)).toBe(false);
    env.ports.clock.advance(seconds(60));
    expect(await sweepRun(env.worker, run)).toBe(true);
    expect(env.ports.jobs.sent).toMatchObject([{ nodeId: 'a', attempt: 1, resend: 1 }]);
    const [resent] = env.ports.jobs.takeSent();
    if (resent === undefined) throw new Error('nothing was sent again');
    await env.take(resent);
    expect((await env.fold(run)).state.nodes.get(keyOf('z'))?.status).toBe('waiting');
    env.ports.clock.advance(seconds(3_600));
    expect(await sweepRun(env.worker, run)).toBe(false);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'a#1', 'b#1']);
  });

  it('in every delivery for an hour: the dead letter fails the node, and records the reason', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    for (let death = 0; death < 3; death += 1) {
      expect((await env.fold(run)).state.progress.status).toBe('pending');
      await deadLetterAfterCrash(env, jobFor(run, 'a', commitNo(1), one));
      env.ports.clock.advance(seconds(1_800));
    }
    const { progress, nodes } = (await env.fold(run)).state;
    expect(progress).toMatchObject({ status: 'failed', error: { cause: 'lost', code: 'recovery_error' } });
    expect(nodes.get(keyOf('b'))).toMatchObject({ status: 'skipped', reason: 'parent_not_successful' });
  });
});
