/** Following a run: a reader misses nothing and sees nothing twice, and an idle run costs few reads. */
import { describe, expect, test } from 'vitest';
import {
  type NodeKey,
  type RunAddress,
  attempt,
  keyId,
  nodeId,
  nodeKey,
  nonce,
  projectId,
  topLevel,
} from '../../../lib/engine/ids.ts';
import { publicEvents } from '../../../lib/engine/log/public-event.ts';
import { type DurationMs, after, durationMs, minutes, seconds } from '../../../lib/engine/time.ts';
import { MemoryReaderLeases } from '../../../lib/memory/watching.ts';
import type { Reader, Streams } from '../../../lib/ports/watching.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { RunAttempt } from '../../../lib/service/commit/plans.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import {
  type FollowedRun,
  type RunUpdate,
  beginFollowing,
  followRun,
  hasSeenAll,
} from '../../../lib/service/watching/follow-run.ts';
import { maxSubscriptions } from '../../../lib/service/watching/delta-subscriptions.ts';
import { acquireReaderLease } from '../../../lib/service/watching/acquire-reader-lease.ts';
import { type StreamUpdate, heartbeatInterval, maxStreamDuration, watchRun } from '../../../lib/service/watching/watch-run.ts';
import { expiresAt } from '../../contract/samples.ts';
import { type TestEnv, failing, createTestEnv, workflow } from '../test-env.ts';
import { nextWithTime } from '../next-with-time.ts';

const node: NodeKey = nodeKey({ nodeId: nodeId('talk'), iteration: topLevel });
const owner = nonce('a');

const opened = async (deps: Pick<Deps, 'log'>, run: RunAddress): Promise<FollowedRun> => {
  const followed = await beginFollowing(deps, run);
  if (followed === undefined) throw new Error('no such run');
  return followed;
};
const rest = async (
  env: TestEnv,
  from: AsyncGenerator<RunUpdate | StreamUpdate, void, undefined>,
): Promise<readonly (RunUpdate | StreamUpdate)[]> => {
  const all: (RunUpdate | StreamUpdate)[] = [];
  for (let one = await nextWithTime(env, from); one.done !== true; one = await nextWithTime(env, from)) all.push(one.value);
  return all;
};
const idsIn = (updates: readonly (RunUpdate | StreamUpdate)[]) =>
  updates.flatMap((one) => (one.kind === 'event' ? [one.event.eventId] : []));
const deltasIn = (updates: readonly (RunUpdate | StreamUpdate)[]) =>
  updates.flatMap((one) => (one.kind === 'delta' ? [one.delta] : []));
/** The events in the log, for comparison. */
const logged = async ({ ports }: TestEnv, run: RunAddress) => {
  const head = await ports.log.head(run);
  if (head === undefined) throw new Error('no such run');
  return [head.commit, ...(await ports.log.commitsAfter(run, head.commit.number))].flatMap((commit) =>
    publicEvents(head, commit),
  );
};
const appendDelta = ({ ports }: TestEnv, run: RunAddress, index: number, facts: { attempt?: number; by?: string } = {}) =>
  ports.streams.put(
    run,
    node,
    {
      index,
      attempt: attempt(facts.attempt ?? 1),
      owner: nonce(facts.by ?? owner),
      text: `part ${index}`,
      at: ports.clock.now(),
    },
    expiresAt,
  );
const begun = async (drawn = 'talk>e', options: Parameters<typeof createTestEnv>[0] = {}) => {
  const env = createTestEnv(options);
  await env.publish(workflow('flow', drawn, { z1: { ms: 3_600_000 } }));
  return { env, run: await env.begin('flow') };
};

describe('events', () => {
  test('of an ended run arrive at once and in order, without a wait', async () => {
    const { env, run } = await begun('a>b b>c c>e');
    await env.settle();
    const before = env.ports.clock.now();
    const updates = await rest(env, followRun(env.deps, await opened(env.deps, run), 0));
    const all = await logged(env, run);
    expect(updates.map((one) => (one.kind === 'event' ? one.event : one))).toEqual(all);
    expect(all.at(-1)?.type).toBe('run.completed');
    expect(env.ports.clock.now()).toBe(before);
  });

  test('arrive while the run progresses, and its cancellation is the last', async () => {
    const { env, run } = await begun();
    const from = followRun(env.deps, await opened(env.deps, run), 0);
    const seen: RunUpdate[] = [];
    for (let one = await nextWithTime(env, from); one.done !== true; one = await nextWithTime(env, from)) {
      seen.push(one.value);
      if (seen.filter(({ kind }) => kind === 'idle').length === 3) await cancelRun(env.worker, run);
    }
    expect(idsIn(seen)).toEqual((await logged(env, run)).map(({ eventId }) => eventId));
    expect(seen.at(-1)).toMatchObject({ kind: 'event', event: { type: 'run.cancelled' } });
  });

  test('a reader that reconnects after every event misses nothing and sees nothing twice', async () => {
    const drawn = Array.from({ length: 170 }, (_, at) => `n${at}>n${at + 1}`).join(' ');
    const { env, run } = await begun(`${drawn} n170>e`);
    await env.settle();
    const all = await logged(env, run);
    expect(all.length).toBeGreaterThan(500);
    const seen: number[] = [];
    let last = 0;
    for (let time = 0; time < 500; time += 1) {
      const from = followRun(env.deps, await opened(env.deps, run), last);
      const { value } = await nextWithTime(env, from);
      await from.return();
      if (value?.kind !== 'event') throw new Error('nothing came');
      seen.push(value.event.eventId);
      last = value.event.eventId;
    }
    expect(seen).toEqual(all.slice(0, 500).map(({ eventId }) => eventId));
  });

  test('from any cursor only later events arrive, and none after the last', async () => {
    const { env, run } = await begun('a>e');
    await env.settle();
    const all = (await logged(env, run)).map(({ eventId }) => eventId);
    for (let cursor = 0; cursor <= all.length + 3; cursor += 1) {
      const followed = await opened(env.deps, run);
      expect(idsIn(await rest(env, followRun(env.deps, followed, cursor)))).toEqual(all.slice(cursor));
      expect(hasSeenAll(followed, cursor)).toBe(cursor >= all.length);
    }
  });

  test('a gap in the log and an unavailable table only delay the events', async () => {
    const { env, run } = await begun('a>b b>e');
    let looks = 0;
    const log = new Proxy(env.ports.log, {
      get: (target, name) => {
        const held: unknown = Reflect.get(target, name);
        if (name !== 'commitsAfter') return typeof held === 'function' ? (held.bind(target) as unknown) : held;
        const torn: typeof target.commitsAfter = async (...given) => {
          looks += 1;
          if (looks === 2) throw new Unavailable('the table');
          return (await target.commitsAfter(...given)).slice(looks === 3 ? 1 : 0);
        };
        return torn;
      },
    });
    const followed = await opened({ log }, run);
    await env.settle();
    const updates = await rest(env, followRun({ ...env.deps, log }, followed, 0));
    expect(idsIn(updates)).toEqual((await logged(env, run)).map(({ eventId }) => eventId));
    expect(looks).toBeGreaterThan(3);
  });
});

describe('deltas', () => {
  test('arrive between the events with the last event’s id, and again from index 0 after a reconnect', async () => {
    const { env, run } = await begun();
    await appendDelta(env, run, 0);
    const at = (await logged(env, run)).length;
    const from = followRun(env.deps, await opened(env.deps, run), 0);
    for (let one = 0; one < at; one += 1) expect((await nextWithTime(env, from)).value).toMatchObject({ kind: 'event' });
    const payload = { nodeId: 'talk', attempt: 1, text: 'part 0', deltaIndex: 0 };
    const envelope = { eventId: at, sequence: at, type: 'node.stream.delta', runId: run.runId, workflowId: 'flow' };
    expect((await nextWithTime(env, from)).value).toMatchObject({ kind: 'delta', delta: { ...envelope, payload } });
    await appendDelta(env, run, 1);
    await appendDelta(env, run, 2);
    expect(
      deltasIn([(await nextWithTime(env, from)).value, (await nextWithTime(env, from)).value].flatMap((one) => one ?? [])),
    ).toMatchObject([{ payload: { deltaIndex: 1 } }, { payload: { deltaIndex: 2 } }]);
    await from.return();
    const again = followRun(env.deps, await opened(env.deps, run), at);
    for (const deltaIndex of [0, 1, 2]) {
      expect((await nextWithTime(env, again)).value).toMatchObject({
        kind: 'delta',
        delta: { eventId: at, payload: { deltaIndex } },
      });
    }
    expect((await nextWithTime(env, again)).value).toEqual({ kind: 'idle' });
    await again.return();
  });

  test('of a completed node are not sent', async () => {
    const { env, run } = await begun();
    for (const index of [0, 1]) await appendDelta(env, run, index);
    await env.settle();
    expect(deltasIn(await rest(env, followRun(env.deps, await opened(env.deps, run), 0)))).toEqual([]);
  });

  test('stop at a missing index until it exists', async () => {
    const { env, run } = await begun();
    const from = followRun(env.deps, await opened(env.deps, run), (await logged(env, run)).length);
    await appendDelta(env, run, 0);
    await appendDelta(env, run, 2);
    expect((await nextWithTime(env, from)).value).toMatchObject({ delta: { payload: { deltaIndex: 0 } } });
    expect((await nextWithTime(env, from)).value).toEqual({ kind: 'idle' });
    await appendDelta(env, run, 1);
    const later: unknown[] = [];
    while (later.length < 2) {
      const { value } = await nextWithTime(env, from);
      if (value?.kind === 'delta') later.push(value.delta.payload['deltaIndex']);
    }
    expect(later).toEqual([1, 2]);
    await from.return();
  });

  test('continue after a retry, and a reset voids the deltas of another execution', async () => {
    const { env, run } = await begun('talk>e', { answer: () => failing() });
    const from = followRun(env.deps, await opened(env.deps, run), 0);
    await appendDelta(env, run, 0);
    await appendDelta(env, run, 1, { attempt: 2, by: 'b' });
    await appendDelta(env, run, 2, { attempt: 2, by: 'b' });
    const deltas: object[] = [];
    while (deltas.length < 3) {
      const { value } = await nextWithTime(env, from);
      if (value?.kind === 'delta') deltas.push(value.delta.payload);
    }
    expect(deltas).toEqual([
      { nodeId: 'talk', attempt: 1, deltaIndex: 0, text: 'part 0' },
      { nodeId: 'talk', attempt: 2, deltaIndex: 1, text: 'part 1', reset: true },
      { nodeId: 'talk', attempt: 2, deltaIndex: 2, text: 'part 2' },
    ]);
    await from.return();
  });

  test('beyond one page of a read are complete', async () => {
    const { env, run } = await begun();
    for (let index = 0; index < 350; index += 1) await appendDelta(env, run, index);
    const from = followRun(env.deps, await opened(env.deps, run), (await logged(env, run)).length);
    const seen: unknown[] = [];
    while (seen.length < 350) {
      const { value } = await nextWithTime(env, from);
      if (value?.kind !== 'delta') throw new Error('it paused');
      seen.push(value.delta.payload['deltaIndex']);
    }
    expect(seen).toEqual(Array.from({ length: 350 }, (_, index) => index));
    await from.return();
  });

  test('of a thousand running nodes are read for a limited number only', async () => {
    const { env, run } = await begun(
      Array.from({ length: 200 }, (_, at) => `s>n${at}`)
        .join(' ')
        .replaceAll('s>', 'a>'),
    );
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('nothing was sent');
    await env.take(job);
    const asked = new Set<string>();
    const streams: Streams = Object.assign(Object.create(env.ports.streams), {
      from: (...given: Parameters<Streams['from']>) => {
        asked.add(given[1]);
        return env.ports.streams.from(...given);
      },
    });
    const from = followRun({ ...env.deps, streams }, await opened(env.deps, run), 1_000_000);
    for (let one = 0; one < 5; one += 1) await nextWithTime(env, from);
    expect(asked.size).toBe(maxSubscriptions);
    await from.return();
  });
});

describe('a stream', () => {
  const always = async (): Promise<boolean> => true;
  const counting = (deps: Deps) => {
    const counted = { reads: 0 };
    const count = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get: (target, name) => {
          const held: unknown = Reflect.get(target, name);
          if (typeof held !== 'function') return held;
          return (...given: readonly unknown[]): unknown => {
            counted.reads += 1;
            return Reflect.apply(held, target, given);
          };
        },
      });
    return { deps: { ...deps, log: count(deps.log), streams: count(deps.streams) }, counted };
  };
  const lengthOf = (env: TestEnv, since: number): DurationMs => durationMs(env.ports.clock.now() - since);

  test('ends before the gateway’s timeout, sends heartbeats until then, and its reader continues at its cursor', async () => {
    const { env, run } = await begun();
    const since = env.ports.clock.now();
    const first = await rest(env, watchRun(env.deps, followRun(env.deps, await opened(env.deps, run), 0), always));
    expect(lengthOf(env, since)).toBeGreaterThanOrEqual(maxStreamDuration);
    expect(lengthOf(env, since)).toBeLessThan(maxStreamDuration + seconds(10));
    const heartbeats = first.flatMap((one) => (one.kind === 'heartbeat' ? [one.at] : []));
    expect(heartbeats.length).toBeGreaterThanOrEqual(15);
    for (const [at, heartbeat] of heartbeats.entries()) {
      const pause = heartbeat - (heartbeats[at - 1] ?? since);
      expect(pause).toBeGreaterThanOrEqual(heartbeatInterval);
      expect(pause).toBeLessThan(seconds(25));
    }
    await env.settle();
    const last = idsIn(first).at(-1) ?? 0;
    const second = await rest(env, watchRun(env.deps, followRun(env.deps, await opened(env.deps, run), last), always));
    expect([...idsIn(first), ...idsIn(second)]).toEqual((await logged(env, run)).map(({ eventId }) => eventId));
  });

  test.each([
    ['a running node', 'talk>e', 700],
    ['a sleeping node', 'z1>e', 100],
  ])('of five idle minutes with %s costs few reads', async (_what, drawn, maxReads) => {
    const { env, run } = await begun(drawn);
    if (drawn.startsWith('z')) for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const { deps, counted } = counting(env.deps);
    await rest(env, watchRun(deps, followRun(deps, await opened(deps, run), 0), always));
    expect(counted.reads).toBeLessThanOrEqual(maxReads);
    expect(counted.reads).toBeGreaterThan(maxReads / 4);
  });

  test('ends within 30 seconds after its reader’s key is revoked', async () => {
    const { env, run } = await begun();
    const since = env.ports.clock.now();
    const isAllowed = async (): Promise<boolean> => env.ports.clock.now() < after(since, minutes(1));
    await rest(env, watchRun(env.deps, followRun(env.deps, await opened(env.deps, run), 0), isAllowed));
    expect(lengthOf(env, since)).toBeLessThanOrEqual(seconds(75));
  });

  test('ends within seconds after its reader opens another stream, which continues', async () => {
    const { env, run } = await begun();
    const reader = { run, keyId: keyId('0123456789'), name: 'ann' };
    const open = async (who: Reader = reader) =>
      watchRun(env.deps, followRun(env.deps, await opened(env.deps, run), 0), always, await acquireReaderLease(env.deps, who));
    const [first, other] = [await open(), await open({ ...reader, name: 'ben' })];
    const last = await open();
    const since = env.ports.clock.now();
    const seen = await rest(env, first);
    expect(lengthOf(env, since)).toBeLessThanOrEqual(seconds(4));
    expect(seen.filter(({ kind }) => kind === 'heartbeat')).toEqual([]);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const all = (await logged(env, run)).map(({ eventId }) => eventId);
    expect(idsIn(await rest(env, last))).toEqual(all);
    expect(idsIn(await rest(env, other))).toEqual(all);
  });

  test('continues while its reader lease cannot be read', async () => {
    const { env, run } = await begun();
    const reader = { run, keyId: keyId('0123456789'), name: 'ann' };
    const readerLeases = Object.assign(new MemoryReaderLeases(), {
      holder: () => Promise.reject(new Unavailable('the reader leases')),
    });
    const since = env.ports.clock.now();
    const hasSeat = await acquireReaderLease({ ...env.deps, readerLeases }, reader);
    await rest(env, watchRun(env.deps, followRun(env.deps, await opened(env.deps, run), 0), always, hasSeat));
    expect(lengthOf(env, since)).toBeGreaterThanOrEqual(maxStreamDuration);
  });

  test('of a slow reader reads no further ahead than the reader', async () => {
    const { env, run } = await begun();
    const { deps, counted } = counting(env.deps);
    const from = watchRun(deps, followRun(deps, await opened(deps, run), 0), always);
    await nextWithTime(env, from);
    const before = counted.reads;
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([counted.reads, env.ports.clock.nextWakeAt()]).toEqual([before, undefined]);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const seen = await rest(env, from);
    expect([1, ...idsIn(seen)]).toEqual((await logged(env, run)).map(({ eventId }) => eventId));
  });
});

test('a missing run is not followed', async () => {
  const { env, run } = await begun();
  expect(await beginFollowing(env.deps, { ...run, projectId: projectId('other') })).toBeUndefined();
});

describe('events that follow from an event of the log', () => {
  const printing =
    (runAttempt: RunAttempt): RunAttempt =>
    async (...given) => ({ ...(await runAttempt(...given)), printed: ['one', 'two'] });
  const derivedIn = (updates: readonly (RunUpdate | StreamUpdate)[]) =>
    updates.flatMap((one) => (one.kind === 'derived' ? [[one.event.eventId, one.event.type, one.event.payload]] : []));

  test('each node that an end cancelled has one, before the end of the run', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z a>s', { z: { ms: 60_000 }, s: { name: 'paid', correlation: 'order' } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    await cancelRun(env.worker, run);
    const updates = await rest(env, followRun(env.deps, await opened(env.deps, run), 0));
    const last = (await logged(env, run)).length;
    const cancelled = derivedIn(updates).toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
    expect(cancelled).toEqual(['s', 'z'].map((id) => [last - 1, 'node.cancelled', { nodeId: id, attempt: 1 }]));
    expect(updates.at(-1)).toMatchObject({ kind: 'event', event: { type: 'run.cancelled', eventId: last } });
    // A reader that reconnects before the end gets them again, and one that saw the end does not.
    expect(derivedIn(await rest(env, followRun(env.deps, await opened(env.deps, run), last - 1)))).toHaveLength(2);
    expect(derivedIn(await rest(env, followRun(env.deps, await opened(env.deps, run), last)))).toEqual([]);
  });

  test('the lines that an attempt printed come before its outcome', async () => {
    const env = createTestEnv();
    const worker = { ...env.worker, runAttempt: printing(env.worker.runAttempt) };
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    for (let sent = env.ports.jobs.takeSent(); sent.length > 0; sent = env.ports.jobs.takeSent())
      for (const job of sent) await env.take(job, { worker });
    const updates = await rest(env, followRun(env.deps, await opened(env.deps, run), 0));
    const first = updates.findIndex(({ kind }) => kind === 'derived');
    expect(updates.slice(first, first + 2)).toMatchObject([
      { event: { type: 'node.log', payload: { nodeId: 'a', attempt: 1, lines: ['one', 'two'] } } },
      { event: { type: 'node.completed', payload: { nodeId: 'a' } } },
    ]);
    expect(derivedIn(updates)).toHaveLength(2);
  });
});
