import { describe, expect, it } from 'vitest';
import { attempt, commitNo, nodeId, nodeKey, topLevel } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { runNode } from '../../../lib/service/execution/run-node.ts';
import { sweepRun } from '../../../lib/service/execution/sweep-runs.ts';
import { deadLetterAfterCrash } from '../dead-letters.ts';
import { failing, finished, createTestEnv, jobFor, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

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
  it('is run inline by one worker, with one put a node and no read but the first', async () => {
    const counts: Record<string, number> = {};
    const home = createTestEnv({ wrap: (deps) => counted(deps, counts) });
    await home.publish(workflow('flow', 'a>b b>d d>f f>g'));
    const run = await home.begin('flow');
    await home.settle();
    expect(home.attempts).toEqual(['a#1', 'b#1', 'd#1', 'f#1', 'g#1']);
    expect(counts).toEqual({ create: 1, head: 1, commitsAfter: 1, put: 5, project: 1 });
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('is handed to another invocation when time is short', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await runNode(home.worker, job, { isRedelivered: false, mustEndAt: home.ports.clock.now() });
    expect(home.ports.jobs.sent).toMatchObject([{ nodeId: 'b', commit: 2, attempt: 1 }]);
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });
});

describe('a node that takes long', () => {
  it('is shown as running after a second, and beats every minute', async () => {
    let release: (() => void) | undefined;
    const home = createTestEnv({ answer: (node) => new Promise((resolve) => (release = () => resolve(finished(node)))) });
    await home.publish({ ...workflow('flow', 'a>e', { a: { policy: { timeoutMs: seconds(600) } } }) });
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = home.take(job);
    const pass = async (count: number) => {
      for (let second = 0; second < count; second += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        home.ports.clock.advance(seconds(1));
      }
      await new Promise((resolve) => setImmediate(resolve));
    };
    await pass(1);
    const startedAfter = home.ports.clock.now();
    expect((await home.fold(run)).state.nodes.get(keyOf('a'))).toMatchObject({ status: 'running', startedAt: startedAfter });
    expect(await home.ports.log.heartbeats(run)).toEqual([]);
    await pass(70);
    expect(await home.ports.log.heartbeats(run)).toMatchObject([{ node: 'a', resends: 0 }]);
    release?.();
    await taking;
    const { state } = await home.fold(run);
    expect(state.progress.status).toBe('completed');
    expect(state.asOf).toBe(3);
  });
});

describe('a job that comes twice, late or out of order', () => {
  it('twice: changes nothing and sends nothing', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b a>d b>e d>e'));
    const run = await home.begin('flow');
    await home.settle();
    const before = await home.fold(run);
    await home.take(jobFor(run, 'a', commitNo(1), one));
    expect(home.ports.jobs.sent).toEqual([]);
    expect((await home.fold(run)).state.asOf).toBe(before.state.asOf);
    expect(home.attempts.filter((each) => each === 'a#1')).toHaveLength(1);
  });

  it('sends again what the late put of its dead worker dispatched', async () => {
    let late: (() => Promise<unknown>) | undefined;
    const home = createTestEnv({
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
    await home.publish(workflow('flow', 'a>b a>d'));
    const run = await home.begin('flow');
    await expect(home.take(jobFor(run, 'a', commitNo(1), one))).rejects.toThrow('died here');
    // Until then the attempt may be delivered to another worker.
    home.ports.clock.advance(seconds(100));
    await home.take(jobFor(run, 'a', commitNo(1), one), { isRedelivered: true });
    expect([...(await home.fold(run)).state.open.keys()]).toEqual([keyOf('b'), keyOf('d')]);
    expect(home.ports.jobs.takeSent().slice(-2)).toMatchObject([
      { nodeId: 'b', resend: 1 },
      { nodeId: 'd', resend: 1 },
    ]);
  });

  it('runs nothing where another has ended its node while it said that it begins', async () => {
    let other: (() => Promise<void>) | undefined;
    const home = createTestEnv({
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
    await home.publish(workflow('flow', 'a>b', { a: { announces: true } }));
    const run = await home.begin('flow');
    other = () => home.take(jobFor(run, 'a', commitNo(1), one));
    await home.take(jobFor(run, 'a', commitNo(1), one));
    expect(home.attempts).toEqual(['a#1', 'b#1']);
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it.each([
    ['somebody beats for its node', 0, 30],
    ['its node was asked for again since', 1, 30],
  ])('runs nothing where it comes back and %s, and leaves a nudge', async (_why, resends, agoSeconds) => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await home.ports.log.heartbeat(run, { node: keyOf('a'), at: home.ports.clock.now(), resends }, home.ports.clock.now());
    home.ports.clock.advance(seconds(agoSeconds));
    await home.take(jobFor(run, 'a', commitNo(1), one), { isRedelivered: true });
    expect([home.attempts, home.ports.jobs.delayed.map(({ job }) => job.kind)]).toEqual([[], ['recheck']]);
  });

  it.each([
    ['nobody has beaten for its node lately', 0, 0, 101],
    ['it is the last one that asked for its node', 1, 1, 30],
  ])('runs its node where it comes back and %s', async (_why, resends, resend, agoSeconds) => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await home.ports.log.heartbeat(run, { node: keyOf('a'), at: home.ports.clock.now(), resends }, home.ports.clock.now());
    home.ports.clock.advance(seconds(agoSeconds));
    await home.take({ ...jobFor(run, 'a', commitNo(1), one), resend }, { isRedelivered: true });
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });

  it('of an attempt that has been retried since: changes nothing', async () => {
    const home = createTestEnv({ answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)) });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await home.settle();
    await home.take(jobFor(run, 'a', commitNo(1), one), { isRedelivered: true });
    expect(home.attempts).toEqual(['a#1', 'a#2', 'b#1']);
  });

  it('early, before its retry is due: waits again', async () => {
    const home = createTestEnv({ answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)) });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await home.take(job);
    await home.take(jobFor(run, 'a', commitNo(2), two));
    expect(home.attempts).toEqual(['a#1']);
    expect(home.ports.jobs.delayed).toHaveLength(2);
    await home.settle();
    expect(home.attempts).toEqual(['a#1', 'a#2', 'b#1']);
  });

  it('a stale wake changes nothing, and an early one waits again', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 60_000 } }));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await home.take(job);
    const [wake] = home.ports.jobs.delayed;
    if (wake === undefined) throw new Error('no alarm was set');
    await home.take(wake.job);
    expect((await home.fold(run)).state.asOf).toBe(2);
    expect(home.ports.jobs.delayed).toHaveLength(2);
    await home.settle();
    const ended = await home.fold(run);
    expect(ended.state.progress.status).toBe('completed');
    await home.take(wake.job);
    expect((await home.fold(run)).state.asOf).toBe(ended.state.asOf);
  });
});

describe('a worker that is killed', () => {
  /** A world in which a call of a port never comes back: the worker died there. */
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

  it('between commit and send: the message that comes back sends what is silent, and runs nothing twice', async () => {
    const home = createTestEnv({ wrap: killedAt('jobs', 'send', 2) });
    await home.publish(workflow('flow', 'a>b a>d b>e d>e'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(home.take(job)).rejects.toThrow('killed here');
    home.ports.clock.advance(seconds(960));
    await home.take(job, { isRedelivered: true });
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
    expect(home.attempts.toSorted()).toEqual(['a#1', 'b#1', 'd#1']);
  });

  it('in the middle of an inline chain: only the node in hand is run again', async () => {
    const home = createTestEnv({ wrap: killedAt('log', 'put', 3) });
    await home.publish(workflow('flow', 'a>b b>d d>e'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(home.take(job)).rejects.toThrow('killed here');
    home.ports.clock.advance(seconds(960));
    await home.take(job, { isRedelivered: true });
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
    expect(home.attempts).toEqual(['a#1', 'b#1', 'd#1', 'd#1']);
  });

  it('is found by the sweep long before its message comes back, and a legitimate wait is not touched', async () => {
    const home = createTestEnv({ wrap: killedAt('log', 'put', 1) });
    await home.publish(workflow('flow', 'a>b a>z b>e z>e', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(home.take(job)).rejects.toThrow('killed here');
    home.ports.clock.advance(seconds(60));
    expect(await sweepRun(home.worker, run)).toBe(false);
    home.ports.clock.advance(seconds(60));
    expect(await sweepRun(home.worker, run)).toBe(true);
    expect(home.ports.jobs.sent).toMatchObject([{ nodeId: 'a', attempt: 1, resend: 1 }]);
    const [resent] = home.ports.jobs.takeSent();
    if (resent === undefined) throw new Error('nothing was sent again');
    await home.take(resent);
    expect((await home.fold(run)).state.nodes.get(keyOf('z'))?.status).toBe('waiting');
    home.ports.clock.advance(seconds(3_600));
    expect(await sweepRun(home.worker, run)).toBe(false);
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
    expect(home.attempts).toEqual(['a#1', 'a#1', 'b#1']);
  });

  it('in every delivery for an hour: its dead letter fails the node, with the reason on the record', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    for (let death = 0; death < 3; death += 1) {
      expect((await home.fold(run)).state.progress.status).toBe('pending');
      await deadLetterAfterCrash(home, jobFor(run, 'a', commitNo(1), one));
      home.ports.clock.advance(seconds(1_800));
    }
    const { progress, nodes } = (await home.fold(run)).state;
    expect(progress).toMatchObject({ status: 'failed', error: { cause: 'lost', code: 'recovery_error' } });
    expect(nodes.get(keyOf('b'))).toMatchObject({ status: 'skipped', reason: 'parent_not_successful' });
  });
});
