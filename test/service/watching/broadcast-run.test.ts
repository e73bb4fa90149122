/** Broadcasting a run: every socket receives all updates in order, also if it joins late, is slow or reconnects; broadcasters hand over. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type RunAddress, keyId, runId } from '../../../lib/engine/ids.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { after, between, durationMs, hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import { maxJoinedRuns } from '../../../lib/service/watching/join-run.ts';
import { maxDerivedFrames, maxFrameBytes, maxFrameValueBytes } from '../../../lib/service/watching/socket-frames.ts';
import { maxPosts } from '../../../lib/service/watching/socket-subscriber.ts';
import {
  replaceBroadcaster,
  maxBroadcastDuration,
  socketHeartbeatInterval,
} from '../../../lib/service/watching/broadcast-run.ts';
import { type SocketTestEnv, type ReceivedFrame, createSocketTestEnv, connectionIdOf } from '../socket-test-env.ts';
import { startCodeRun } from '../code-test-env.ts';
import { functionCommand } from '../scripted-programs.ts';
import { type TestEnv, createTestEnv, finished, scope, workflow } from '../test-env.ts';

/** Derived frames have no id. */
const eventIds = (seen: readonly ReceivedFrame[]) =>
  seen.flatMap(({ type, eventId }) => (type.startsWith('workflow_') && eventId !== undefined ? [eventId] : []));
const statuses = (seen: readonly ReceivedFrame[]) =>
  seen
    .filter(({ type }) => type.startsWith('workflow_'))
    .map(({ payload }) => `${textOf(payload?.['nodeID'] ?? 'run')} ${textOf(payload?.['status'])}`);
/** The value of a field that is always a string. */
const textOf = (value: unknown): string => z.string().parse(value);
const deltas = (seen: readonly ReceivedFrame[]) =>
  seen.filter(({ type }) => type === 'node.stream.delta').map(({ payload }) => Number(payload?.['deltaIndex']));
const types = (seen: readonly ReceivedFrame[]) => seen.map(({ type }) => type);

/** An ended run of two nodes. */
const ended = async (): Promise<{ env: TestEnv; stage: SocketTestEnv; run: RunAddress }> => {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'one>two'));
  const run = await env.begin('flow');
  await env.settle();
  return { env, stage: createSocketTestEnv(env), run };
};
/** A run whose node no worker executes. */
const open = async (): Promise<{ env: TestEnv; stage: SocketTestEnv; run: RunAddress }> => {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'talk>two'));
  return { env, stage: createSocketTestEnv(env), run: await env.begin('flow') };
};
const begunWith = async (env: TestEnv, input: JsonObject): Promise<RunAddress> => {
  const answer = await env.start({ input });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
};
const cancel = ({ env, run }: { env: TestEnv; run: RunAddress }) => cancelRun(env.worker, run);

describe('frames', () => {
  test('an ended run is sent completely, once, and then the subscription ends', async () => {
    const { stage, run } = await ended();
    await stage.join('a', run);
    expect(await stage.settle()).toEqual(['ended']);
    const seen = stage.framesOf('a');
    expect(seen[0]).toEqual({ type: 'joined', runId: run.runId, after: 0 });
    expect(statuses(seen)).toEqual([
      'one queued',
      'run running',
      'one completed',
      'two queued',
      'two running',
      'two completed',
      'run completed',
    ]);
    expect(eventIds(seen)).toEqual(eventIds(seen).toSorted((one, other) => one - other));
    expect(seen.at(-1)).toEqual({ type: 'left', runId: run.runId, reason: 'run_ended' });
    expect((await stage.sockets.watchersOf(run)).members).toEqual([]);
  });

  test('match the documented payloads field by field', async () => {
    const { stage, run } = await ended();
    await stage.join('a', run);
    await stage.settle();
    const seen = stage.framesOf('a');
    expect(seen.find(({ payload }) => payload?.['nodeID'] === 'one' && payload['status'] === 'completed')).toMatchObject({
      type: 'workflow_node_update',
      workflowId: 'flow',
      runId: run.runId,
      payload: { instanceID: run.runId, nodeID: 'one', status: 'completed', output: 'one', error: null, attempt: 1 },
    });
    expect(seen.findLast(({ type }) => type === 'workflow_status_update')?.payload).toEqual({
      instanceID: run.runId,
      status: 'completed',
      contextData: { input: {} },
    });
  });

  test.each([1, 3, 6, 100])('after event %i contain nothing before it', async (from) => {
    const { stage, run } = await ended();
    await stage.join('all', run);
    await stage.join('late', run, { after: from });
    await stage.settle();
    expect(eventIds(stage.framesOf('late'))).toEqual(eventIds(stage.framesOf('all')).filter((id) => id > from));
    expect(types(stage.framesOf('late')).at(-1)).toBe('left');
  });

  test('arrive as the run progresses: events, deltas between them, and the end', async () => {
    const given = await open();
    const { stage, run } = given;
    await stage.join('a', run);
    let pauses = 0;
    await stage.settle({
      onPause: async () => {
        pauses += 1;
        if (pauses <= 4) await stage.appendDelta(run, pauses - 1);
        if (pauses === 8) await cancel(given);
      },
    });
    expect(deltas(stage.framesOf('a'))).toEqual([0, 1, 2, 3]);
    expect(statuses(stage.framesOf('a')).at(-1)).toBe('run cancelled');
  });

  test('of printed lines and of cancelled nodes come before their event, without an id', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z1 a>z2', { z1: { ms: 3_600_000 }, z2: { ms: 3_600_000 } }));
    const run = await env.begin('flow');
    const runAttempt = async () => ({ outcome: finished('a'), printed: ['one', 'two'] });
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, runAttempt } });
    await cancelRun(env.worker, run);
    const stage = createSocketTestEnv(env);
    await stage.join('a', run);
    await stage.settle();
    const seen = stage.framesOf('a');
    const log = seen.findIndex(({ type }) => type === 'node.log');
    expect(seen[log]).toMatchObject({ runId: run.runId, payload: { nodeId: 'a', attempt: 1, lines: ['one', 'two'] } });
    expect(seen[log + 1]).toMatchObject({ payload: { nodeID: 'a', status: 'completed' } });
    expect(statuses(seen).slice(-3)).toEqual(['z1 cancelled', 'z2 cancelled', 'run cancelled']);
    const withoutId = seen.filter(({ type, payload }) => type === 'node.log' || payload?.['status'] === 'cancelled');
    expect(withoutId.map(({ eventId }) => eventId)).toEqual([undefined, undefined, undefined, seen.at(-2)?.eventId]);

    const [end] = seen.slice(-2);
    await stage.join('late', run, { after: end?.eventId ?? 0 });
    await stage.settle();
    expect(types(stage.framesOf('late')), 'a member that has seen the end').toEqual(['joined', 'left']);
  });

  test('name at most 500 nodes that one event cancelled', async () => {
    const env = createTestEnv();
    const sleepers = Array.from({ length: 501 }, (_, index) => `z${index}`);
    const configs = Object.fromEntries(sleepers.map((id) => [id, { ms: 3_600_000 }]));
    await env.publish(workflow('flow', sleepers.map((id) => `a>${id}`).join(' '), configs));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    await cancelRun(env.worker, run);
    const stage = createSocketTestEnv(env);
    await stage.join('a', run);
    await stage.settle();
    const seen = statuses(stage.framesOf('a'));
    expect(seen.filter((status) => status.endsWith(' cancelled'))).toHaveLength(maxDerivedFrames + 1);
    expect(seen.at(-1)).toBe('run cancelled');
  });

  test('say that a step runs, also to a later member', async () => {
    const held = Promise.withResolvers<null>();
    const { env, run } = await startCodeRun([[functionCommand('charge')]], { stepFunction: () => held.promise });
    const stage = createSocketTestEnv(env);
    const tasks = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeMessages()].map((job) => env.take(job));
    while ((await env.fold(run)).state.open.size < 2) await new Promise((resolve) => setImmediate(resolve));
    await stage.join('early', run);
    let pauses = 0;
    await stage.settle({
      onPause: async () => {
        pauses += 1;
        if (pauses === 20) await stage.join('late', run);
        if (pauses === 40) await cancelRun(env.worker, run);
      },
    });
    held.resolve(null);
    await Promise.all(tasks);
    for (const name of ['early', 'late'])
      expect(statuses(stage.framesOf(name)).filter((status) => status.endsWith(' running'))).toContainEqual(
        expect.stringMatching(/^(?!run|\.workflow).* running$/),
      );
  });

  test('omit values that are too large and give their size; no frame exceeds the gateway limit', async () => {
    const big = 'x'.repeat(maxFrameValueBytes);
    const env = createTestEnv({
      answer: (node) =>
        node === 'one'
          ? { kind: 'finished', output: { value: big }, handle: 'output' }
          : { kind: 'failed', failure: { cause: 'error', message: big, details: { big } } },
    });
    await env.publish(workflow('flow', 'one>two'));
    const run = await begunWith(env, { big });
    await env.settle();
    const stage = createSocketTestEnv(env);
    await stage.join('a', run);
    await stage.settle();
    const one = stage.framesOf('a').find(({ payload }) => payload?.['nodeID'] === 'one' && payload['status'] === 'completed');
    expect(one?.payload).toMatchObject({ output: null, outputOmitted: { bytes: maxFrameValueBytes + 2 } });
    expect(stage.framesOf('a').at(-2)?.payload).toMatchObject({
      contextData: null,
      contextDataOmitted: { bytes: expect.any(Number) },
    });
    expect(statuses(stage.framesOf('a'))).toContain('two failed');
    for (const { text } of stage.posts.posted) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxFrameBytes);
  });
});

describe('members', () => {
  test('a later member receives everything after its cursor, and the first member receives nothing twice', async () => {
    const given = await open();
    const { stage, run } = given;
    await stage.join('first', run);
    let pauses = 0;
    await stage.settle({
      onPause: async () => {
        pauses += 1;
        if (pauses <= 3) await stage.appendDelta(run, pauses - 1);
        if (pauses === 10) await stage.join('second', run);
        if (pauses === 11) await stage.join('third', run, { after: 3 });
        if (pauses === 25) await stage.appendDelta(run, 3);
        if (pauses === 40) await cancel(given);
      },
    });
    for (const name of ['first', 'second', 'third']) {
      expect(deltas(stage.framesOf(name)), name).toEqual([0, 1, 2, 3]);
      expect(types(stage.framesOf(name))[0], name).toBe('joined');
      expect(new Set(eventIds(stage.framesOf(name))).size, name).toBe(eventIds(stage.framesOf(name)).length);
    }
    expect(eventIds(stage.framesOf('second'))).toEqual(eventIds(stage.framesOf('first')));
    expect(eventIds(stage.framesOf('third'))).toEqual(eventIds(stage.framesOf('first')).filter((id) => id > 3));
  });

  test('a member that leaves receives nothing more, and the broadcast ends with the last member', async () => {
    const { env, stage, run } = await open();
    await stage.join('a', run);
    let pauses = 0;
    const since = env.ports.clock.now();
    const outcomes = await stage.settle({
      onPause: async () => {
        pauses += 1;
        if (pauses === 5) await stage.sockets.leave(run, connectionIdOf('a'));
        if (pauses > 15) await stage.appendDelta(run, pauses - 16);
      },
    });
    expect(outcomes).toEqual(['ended']);
    expect(deltas(stage.framesOf('a'))).toEqual([]);
    expect(between(since, env.ports.clock.now())).toBeLessThan(seconds(10));
  });

  test('a member that joins again receives everything after its new cursor', async () => {
    const { stage, run } = await open();
    await stage.join('a', run);
    let pauses = 0;
    await stage.settle({
      onPause: async () => {
        pauses += 1;
        if (pauses === 6) await stage.join('a', run, { after: 2 });
        if (pauses === 20) await stage.sockets.leave(run, connectionIdOf('a'));
      },
    });
    const seen = stage.framesOf('a');
    const again = seen.slice(types(seen).lastIndexOf('joined'));
    expect(again[0]?.after).toBe(2);
    expect(eventIds(again)).toEqual(eventIds(seen.slice(0, types(seen).lastIndexOf('joined'))).filter((id) => id > 2));
  });

  test('the next heartbeat removes a socket that is gone, and other members notice nothing', async () => {
    const given = await open();
    const { env, stage, run } = given;
    await stage.join('gone', run);
    await stage.join('here', run);
    const since = env.ports.clock.now();
    let found: number | undefined;
    await stage.settle({
      onPause: async () => {
        if (stage.framesOf('gone').length > 1) stage.posts.disconnect(connectionIdOf('gone'));
        const { members } = await stage.sockets.watchersOf(run);
        if (found === undefined && members.length === 1) {
          found = between(since, env.ports.clock.now());
          await cancel(given);
        }
      },
    });
    expect(found).toBeLessThan(socketHeartbeatInterval + seconds(5));
    expect(await stage.sockets.connection(connectionIdOf('gone'))).toBeUndefined();
    expect(statuses(stage.framesOf('here')).at(-1)).toBe('run cancelled');
    expect(stage.posts.closed).toEqual([]);
  });

  test('a stuck socket is closed after a few posts, and delays no other', async () => {
    const { env, stage, run } = await ended();
    await stage.join('stuck', run);
    await stage.join('quick', run);
    stage.posts.block(connectionIdOf('stuck'));
    const since = env.ports.clock.now();
    let tries = 0;
    const real = stage.posts.post.bind(stage.posts);
    const posts = Object.assign(stage.posts, {
      post: async (id: ReturnType<typeof connectionIdOf>, text: string) => {
        if (id === 'stuck') {
          tries += 1;
          // The adapter's timeout for a post.
          await env.ports.clock.sleep(seconds(2));
        }
        return real(id, text);
      },
    });
    expect(await stage.settle({ deps: { posts } })).toEqual(['ended', 'ended']);
    expect(tries).toBe(maxPosts);
    expect(stage.posts.closed).toEqual(['stuck']);
    expect(await stage.sockets.connection(connectionIdOf('stuck'))).toBeUndefined();
    expect(statuses(stage.framesOf('quick')).at(-1)).toBe('run completed');
    expect(between(since, env.ports.clock.now())).toBeLessThan(seconds(10));
  });

  test.for([
    ['that is slower than the log stays, and receives every event', {}, ['a']],
    ['does not wait for a socket that is stuck', { stuck: seconds(60) }, ['a']],
  ] as const)('a socket %s', async ([, others, complete]) => {
    const wide = 150;
    const chain = Array.from({ length: wide - 1 }, (_none, at) => `n${at}>n${at + 1}`).join(' ');
    const env = createTestEnv({ answer: () => finished('x'.repeat(maxFrameValueBytes - 100)) });
    await env.publish(workflow('flow', chain));
    const run = await env.begin('flow');
    const stage = createSocketTestEnv(env);
    for (const name of ['a', ...Object.keys(others)]) await stage.join(name, run);
    const real = stage.posts.post.bind(stage.posts);
    const posts = Object.assign(stage.posts, {
      post: async (id: ReturnType<typeof connectionIdOf>, text: string) => {
        await env.ports.clock.sleep(new Map(Object.entries(others)).get(id) ?? durationMs(50));
        // The farewell comes when the queues of all members are empty.
        if (id === 'a' && !text.startsWith('{"type":"left"')) receivedAt = env.ports.clock.now();
        return real(id, text);
      },
    });
    const since = env.ports.clock.now();
    let receivedAt = since;
    // All events are written at once, when the broadcaster follows the run.
    let isWritten = false;
    const write = async (): Promise<void> => {
      if (isWritten) return;
      isWritten = true;
      await env.settle();
    };
    await stage.settle({ deps: { posts }, onPause: write });
    const completed = Array.from({ length: wide }, (_none, at) => `n${at} completed`);
    for (const name of complete) expect(statuses(stage.framesOf(name)), name).toEqual(expect.arrayContaining(completed));
    expect(stage.posts.closed).not.toContain('a');
    // 450 posts of 50 ms.
    expect(between(since, receivedAt)).toBeLessThan(seconds(40));
  });

  test('the sockets of a revoked key are closed within 30 seconds, and others stay', async () => {
    const given = await open();
    const { env, stage, run } = given;
    await stage.join('bad', run, { key: 'badkey00' });
    await stage.join('good', run, { key: 'goodkey0' });
    const since = env.ports.clock.now();
    let closedAfter: number | undefined;
    await stage.settle({
      isAllowed: async (key) => key !== keyId('badkey00'),
      onPause: async () => {
        if (closedAfter !== undefined || stage.posts.closed.length === 0) return;
        closedAfter = between(since, env.ports.clock.now());
        await cancel(given);
      },
    });
    expect(closedAfter).toBeLessThanOrEqual(seconds(15));
    expect(stage.posts.closed).toEqual(['bad']);
    expect(statuses(stage.framesOf('bad'))).not.toContain('run cancelled');
    expect(statuses(stage.framesOf('good')).at(-1)).toBe('run cancelled');
  });

  test('an expired membership is ignored', async () => {
    const { env, stage, run } = await open();
    await stage.join('old', run);
    env.ports.clock.advance(hours(2));
    expect(await stage.settle()).toEqual(['ended']);
    expect(stage.framesOf('old')).toEqual([]);
  });

  test('all members of a deleted run are removed', async () => {
    const { env, stage, run } = await open();
    await stage.join('a', run);
    const log = { ...env.deps.log, head: async () => undefined };
    expect(await stage.settle({ deps: { log: Object.setPrototypeOf(log, env.deps.log) } })).toEqual(['ended']);
    expect((await stage.sockets.watchersOf(run)).members).toEqual([]);
  });
});

describe('consecutive broadcasters', () => {
  test('each continues where the last one stopped, and nothing is sent twice', async () => {
    const given = await open();
    const { env, stage, run } = given;
    await stage.join('a', run);
    const since = env.ports.clock.now();
    let said = 0;
    const outcomes = await stage.settle({
      onPause: async () => {
        const passed = between(since, env.ports.clock.now());
        if (said < 6 && passed > (said * maxBroadcastDuration) / 2) await stage.appendDelta(run, said++);
        if (passed > maxBroadcastDuration * 3.5) await cancel(given);
      },
    });
    expect(outcomes).toEqual(['continued', 'continued', 'continued', 'ended']);
    expect(types(stage.framesOf('a')).filter((type) => type === 'joined')).toHaveLength(1);
    expect(deltas(stage.framesOf('a'))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(new Set(eventIds(stage.framesOf('a'))).size).toBe(eventIds(stage.framesOf('a')).length);
  });

  test('an invocation ends before its function times out', async () => {
    const { env, stage, run } = await open();
    await stage.join('a', run);
    const mustEndAt = after(env.ports.clock.now(), seconds(45));
    expect(await stage.broadcast({ mustEndAt })).toBe('continued');
    expect(env.ports.clock.now()).toBeLessThan(mustEndAt);
  });

  test('every join sends a message, and only one broadcaster runs', async () => {
    const given = await open();
    const { stage, run } = given;
    for (const name of ['a', 'b', 'c']) await stage.join(name, run);
    expect([await stage.broadcast(), await stage.broadcast(), await stage.broadcast()]).toEqual([
      'continued',
      'deferred_to_another',
      'deferred_to_another',
    ]);
    await cancel(given);
    expect(await stage.settle()).toEqual(['ended']);
    for (const name of ['a', 'b', 'c']) expect(statuses(stage.framesOf(name)).at(-1), name).toBe('run cancelled');
  });

  test('a crash before the continuation is repeated by redelivery, and frames stay in order', async () => {
    const given = await open();
    const { stage, run } = given;
    await stage.join('a', run);
    const dies = { send: () => Promise.reject(new Unavailable('the queue')) };
    await expect(stage.broadcast({ deps: { watches: dies } })).rejects.toThrow(Unavailable);
    await cancel(given);
    expect(await stage.settle()).toEqual(['ended']);
    expect(statuses(stage.framesOf('a')).at(-1)).toBe('run cancelled');
    expect(eventIds(stage.framesOf('a'))).toEqual(eventIds(stage.framesOf('a')).toSorted((one, other) => one - other));
  });

  test('a crash repeats at most the frames since the last saved cursor', async () => {
    const given = await open();
    const { stage, run } = given;
    await stage.join('a', run);
    let pauses = 0;
    const broken = new Error('out of memory');
    await expect(
      stage.broadcast({
        onPause: () => {
          pauses += 1;
          if (pauses === 40) throw broken;
        },
      }),
    ).rejects.toThrow(broken);
    const before = stage.framesOf('a').length;
    await cancel(given);
    await stage.settle();
    expect(statuses(stage.framesOf('a').slice(before))).toEqual(['talk cancelled', 'run cancelled']);
  });

  test('an announced message that is lost does not block later broadcasters', async () => {
    const given = await open();
    const { env, stage, run } = given;
    await stage.join('a', run);
    expect(await stage.broadcast()).toBe('continued');
    stage.watches.sent.splice(0);
    await stage.join('b', run);
    expect(await stage.broadcast()).toBe('deferred_to_another');
    env.ports.clock.advance(minutes(16));
    await stage.join('c', run);
    await cancel(given);
    expect(await stage.settle()).toEqual(['ended']);
    for (const name of ['a', 'b', 'c']) expect(statuses(stage.framesOf(name)).at(-1), name).toBe('run cancelled');
  });

  test('a dead letter removes its announcement, and starts a new broadcaster while members are left', async () => {
    const { env, stage, run } = await open();
    const { sockets, watches } = stage;
    const replacing = { clock: env.ports.clock, ids: env.ports.ids, sockets, watches };
    await stage.join('a', run);
    await stage.broadcast();
    const [dead] = stage.watches.sent.splice(0);
    expect(dead && (await stage.sockets.watchersOf(run)).next?.broadcastId).toBe(dead?.broadcastId);
    if (dead !== undefined) await replaceBroadcaster(replacing, dead);
    expect((await sockets.watchersOf(run)).next).toBeUndefined();
    expect(await stage.broadcast()).toBe('continued');
    env.ports.clock.advance(hours(3));
    watches.sent.splice(0);
    if (dead !== undefined) await replaceBroadcaster(replacing, dead);
    expect(watches.sent).toEqual([]);
  });

  test('a temporary failure of the store is retried', async () => {
    const given = await open();
    const { stage, run } = given;
    await stage.join('a', run);
    const real = stage.sockets.watchersOf.bind(stage.sockets);
    let asked = 0;
    const sockets = Object.assign(stage.sockets, {
      watchersOf: async (of: RunAddress) => {
        asked += 1;
        if (asked > 2 && asked < 6) throw new Unavailable('the table');
        return real(of);
      },
    });
    let pauses = 0;
    await stage.settle({
      deps: { sockets },
      onPause: async () => {
        pauses += 1;
        if (pauses === 30) await cancel(given);
      },
    });
    expect(asked).toBeGreaterThan(6);
    expect(statuses(stage.framesOf('a')).at(-1)).toBe('run cancelled');
  });
});

describe('joining', () => {
  test('a missing run, and with a ticket every other run, is not found', async () => {
    const { stage, run } = await open();
    const elsewhere = { ...run, runId: runId(run.runId.replace(/.$/, (last) => (last === '0' ? '1' : '0'))) };
    expect((await stage.join('a', elsewhere)).kind).toBe('not_found');
    expect((await stage.join('b', run, { onlyRun: elsewhere })).kind).toBe('not_found');
    expect((await stage.join('c', run, { onlyRun: run })).kind).toBe('joined');
    expect(stage.watches.sent).toHaveLength(1);
  });

  test('a connection watches a limited number of runs; joining a watched run again does not count', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'talk>two'));
    const stage = createSocketTestEnv(env);
    const runs: RunAddress[] = [];
    for (let count = 0; count <= maxJoinedRuns; count += 1) {
      const answer = await env.start({ idempotencyKey: `k${count}` });
      if (answer.kind !== 'started') throw new Error(answer.kind);
      runs.push({ ...scope, runId: answer.runId });
    }
    const kinds: string[] = [];
    for (const run of runs) kinds.push((await stage.join('a', run)).kind);
    expect(kinds).toEqual([...Array.from({ length: maxJoinedRuns }, () => 'joined'), 'too_many']);
    const [first] = runs;
    expect(first && (await stage.join('a', first)).kind).toBe('joined');
  });
});
