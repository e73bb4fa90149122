/** The stream writer of a node: few writes, no delay of the node, one owner, and all deltas before the completion. */
import { describe, expect, test } from 'vitest';
import { attempt, firstAttempt, nodeId, nodeKey, topLevel } from '../../../../lib/engine/ids.ts';
import { type Instant, after, durationMs } from '../../../../lib/engine/time.ts';
import { type MemoryPorts, memoryPorts } from '../../../../lib/memory/memory-ports.ts';
import { Unavailable } from '../../../../lib/ports/unavailable.ts';
import type { Streams } from '../../../../lib/ports/watching.ts';
import type { RunAttempt } from '../../../../lib/service/commit/plans.ts';
import { type StreamSource, openStreamWriter } from '../../../../lib/service/kinds/graph/stream-writer.ts';
import { expiresAt, freshRun } from '../../../contract/samples.ts';
import { overrideMethods } from '../../override-methods.ts';
import { failing, finished, createTestEnv, workflow } from '../../test-env.ts';

const node = nodeKey({ nodeId: nodeId('talk'), iteration: topLevel });
const speaker = (facts: Partial<StreamSource> = {}): StreamSource => ({
  run: freshRun(),
  node,
  attempt: firstAttempt,
  expiresAt,
  ...facts,
});
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Advances the clock in steps, and lets pending work finish in between. */
const passTime = async ({ clock }: MemoryPorts, until: Instant, stepMs: number, each: () => void = () => {}): Promise<void> => {
  while (clock.now() < until) {
    each();
    await turn();
    clock.advance(durationMs(stepMs));
    await turn();
  }
};
const heard = async ({ streams }: Pick<MemoryPorts, 'streams'>, { run }: StreamSource) => streams.from(run, node, 0, 1_000);
const whole = (deltas: readonly { readonly text: string }[]): string => deltas.map(({ text }) => text).join('');

/** Counts puts, and lets the test override some results. */
const watched = (ports: MemoryPorts, answer: (count: number) => Error | undefined = () => undefined) => {
  const seen = { puts: 0 };
  const streams: Streams = {
    put: async (...given) => {
      const error = answer((seen.puts += 1));
      if (error !== undefined) throw error;
      return ports.streams.put(...given);
    },
    from: (...given) => ports.streams.from(...given),
    last: (...given) => ports.streams.last(...given),
  };
  return { deps: { ...ports, streams }, seen };
};

test('two thousand tokens at four hundred a second take at most 25 writes, and four in any second', async () => {
  const ports = memoryPorts();
  const { deps, seen } = watched(ports);
  const one = speaker();
  const streamWriter = openStreamWriter(deps, one);
  const end = after(ports.clock.now(), durationMs(5_000));
  let said = '';
  await passTime(ports, end, 5, () => {
    for (const token of [`t${said.length} `, 'x']) {
      streamWriter.append(token);
      said += token;
    }
  });
  await streamWriter.end();
  const deltas = await heard(ports, one);
  expect(whole(deltas)).toBe(said);
  expect(seen.puts).toBeLessThanOrEqual(25);
  expect(deltas.map(({ index }) => index)).toEqual(deltas.map((_, index) => index));
  const times = deltas.map(({ at }) => at);
  for (const time of times) expect(times.filter((at) => at >= time && at < time + 1_000).length).toBeLessThanOrEqual(4);
});

test('whenever a stream ends, no second of it has more than four writes', async () => {
  for (let endsMs = 0; endsMs <= 2_100; endsMs += 25) {
    const ports = memoryPorts();
    const one = speaker();
    const streamWriter = openStreamWriter(ports, one);
    streamWriter.append('first');
    await passTime(ports, after(ports.clock.now(), durationMs(endsMs)), 25, () => streamWriter.append('word '));
    streamWriter.append('last');
    await streamWriter.end();
    const times = (await heard(ports, one)).map(({ at }) => at);
    for (const time of times) expect(times.filter((at) => at >= time && at < time + 1_000).length).toBeLessThanOrEqual(4);
  }
});

test('the first delta is written at once, and a node without output writes nothing', async () => {
  const ports = memoryPorts();
  const { deps, seen } = watched(ports);
  const idle = openStreamWriter(deps, speaker());
  idle.append('');
  await idle.end();
  expect(seen.puts).toBe(0);
  const one = speaker();
  const streamWriter = openStreamWriter(deps, one);
  streamWriter.append('a');
  await turn();
  expect(whole(await heard(ports, one))).toBe('a');
  await streamWriter.end();
});

test('text appended after the end is ignored, and no surrogate pair is split', async () => {
  const ports = memoryPorts();
  const one = speaker();
  const streamWriter = openStreamWriter(ports, one);
  const [high, low] = ['\ud83d', '\ude00'];
  streamWriter.append(`a${high}`);
  await turn();
  expect(whole(await heard(ports, one))).toBe('a');
  streamWriter.append(low);
  await streamWriter.end();
  streamWriter.append('late');
  await turn();
  expect(whole(await heard(ports, one))).toBe('a😀');
});

describe('owners', () => {
  test('the next attempt continues after the last index, and the earlier writer stops', async () => {
    const ports = memoryPorts();
    const one = speaker();
    const first = openStreamWriter(ports, one);
    first.append('one');
    await turn();
    const second = openStreamWriter(ports, { ...one, attempt: attempt(2) });
    second.append('two');
    await turn();
    first.append('lost');
    await first.end();
    second.append('three');
    await second.end();
    const deltas = await heard(ports, one);
    expect(deltas.map(({ index, attempt: number, text }) => [index, number, text])).toEqual([
      [0, 1, 'one'],
      [1, 2, 'two'],
      [2, 2, 'three'],
    ]);
  });

  test('of two executions of one attempt the later one takes over', async () => {
    const ports = memoryPorts();
    const one = speaker();
    const [first, second] = [openStreamWriter(ports, one), openStreamWriter(ports, one)];
    first.append('a');
    await turn();
    second.append('b');
    await turn();
    first.append('c');
    second.append('d');
    await Promise.all([first.end(), second.end()]);
    expect(whole(await heard(ports, one))).toBe('abd');
  });
});

describe('errors', () => {
  test('a put whose outcome is unknown is repeated as it was', async () => {
    const ports = memoryPorts();
    const { deps, seen } = watched(ports, (count) => (count <= 2 ? new Unavailable('the table') : undefined));
    const one = speaker();
    const streamWriter = openStreamWriter(deps, one);
    streamWriter.append('a');
    await passTime(ports, after(ports.clock.now(), durationMs(100)), 50);
    streamWriter.append('b');
    await passTime(ports, after(ports.clock.now(), durationMs(1_000)), 50);
    await streamWriter.end();
    expect((await heard(ports, one)).map(({ text }) => text)).toEqual(['a', 'b']);
    expect(seen.puts).toBe(4);
  });

  test('a put that succeeded without an answer is not written twice', async () => {
    const ports = memoryPorts();
    const one = speaker();
    let count = 0;
    const streams: Streams = {
      put: async (...given) => {
        const result = await ports.streams.put(...given);
        if ((count += 1) === 1) throw new Unavailable('the table');
        return result;
      },
      from: (...given) => ports.streams.from(...given),
      last: (...given) => ports.streams.last(...given),
    };
    const streamWriter = openStreamWriter({ ...ports, streams }, one);
    streamWriter.append('a');
    await passTime(ports, after(ports.clock.now(), durationMs(600)), 50);
    streamWriter.append('b');
    await streamWriter.end();
    expect((await heard(ports, one)).map(({ text }) => text)).toEqual(['a', 'b']);
  });

  test('a table that stays unavailable ends the stream, not the node', async () => {
    const ports = memoryPorts();
    const { deps, seen } = watched(ports, () => new Unavailable('the table'));
    const streamWriter = openStreamWriter(deps, speaker());
    streamWriter.append('a');
    await streamWriter.end();
    expect(seen.puts).toBeLessThanOrEqual(2);
  });
});

describe('in a run', () => {
  test('two thousand tokens at four hundred a second take at most 25 writes in all, the node’s own commits among them', async () => {
    const writes: string[] = [];
    const env = createTestEnv({
      wrap: (deps) => {
        const told =
          <Given extends unknown[], Answer>(name: string, write: (...given: Given) => Promise<Answer>) =>
          (...given: Given): Promise<Answer> => {
            writes.push(name);
            return write(...given);
          };
        const { log, streams } = deps;
        return {
          ...deps,
          log: overrideMethods(log, {
            put: told('commit', (...given) => log.put(...given)),
            heartbeat: told('beat', (...given) => log.heartbeat(...given)),
          }),
          streams: overrideMethods(streams, { put: told('delta', (...given) => streams.put(...given)) }),
        };
      },
    });
    await env.publish(workflow('flow', 'talk>e'));
    const run = await env.begin('flow');
    let say: (text: string) => void = () => {};
    let hush: () => void = () => {};
    const silence = new Promise<void>((resolve) => (hush = resolve));
    const runAttempt: RunAttempt = async (_node, _input, attempting) => {
      say = attempting.append;
      await silence;
      return { outcome: finished('done'), printed: [] };
    };
    const { clock } = env.ports;
    const end = after(clock.now(), durationMs(5_000));
    const working = Promise.all(env.ports.jobs.takeSent().map((job) => env.take(job, { worker: { ...env.worker, runAttempt } })));
    for (let turns = 0; turns < 5; turns += 1) await turn();
    let tokens = 0;
    await passTime(env.ports, end, 5, () => {
      for (const token of ['one ', 'two ']) say(token);
      tokens += 2;
    });
    hush();
    await working;
    expect([tokens, (await env.fold(run)).state.progress.status]).toEqual([2_000, 'completed']);
    const count = (name: string): number => writes.filter((each) => each === name).length;
    // Its start, which watchers see after a second, and its completion, which also ends the run.
    expect([count('commit'), count('beat')]).toEqual([2, 0]);
    expect(count('delta')).toBeGreaterThan(15);
    expect(writes.length).toBeLessThanOrEqual(25);
  });

  const talking = (words: readonly string[], failsFirst = false): RunAttempt => {
    return async (_node, _input, { append, number }) => {
      for (const word of words) append(`${number}${word}`);
      return { outcome: failsFirst && number === 1 ? failing() : finished('done'), printed: [] };
    };
  };

  test('all deltas are written before the completion', async () => {
    const env = createTestEnv();
    let whenCommitted = '';
    const log = new Proxy(env.ports.log, {
      get: (target, name) => {
        const held: unknown = Reflect.get(target, name);
        if (name !== 'put') return typeof held === 'function' ? (held.bind(target) as unknown) : held;
        const put: typeof target.put = async (run, commit, expires) => {
          if (commit.events.some(({ type }) => type === 'NODE_COMPLETED')) {
            whenCommitted ||= whole(await env.ports.streams.from(run, node, 0, 10));
          }
          return target.put(run, commit, expires);
        };
        return put;
      },
    });
    await env.publish(workflow('flow', 'talk>e'));
    const run = await env.begin('flow');
    // The table is slow. A worker that does not wait for it commits first.
    const streams: Streams = {
      put: async (...given) => {
        for (let turns = 0; turns < 20; turns += 1) await turn();
        return env.ports.streams.put(...given);
      },
      from: (...given) => env.ports.streams.from(...given),
      last: (...given) => env.ports.streams.last(...given),
    };
    const worker = { ...env.worker, deps: { ...env.deps, log, streams }, runAttempt: talking(['a', 'b', 'c']) };
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker });
    expect(whenCommitted).toBe('1a1b1c');
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  test('indexes continue over a retry, and each delta names its attempt', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'talk>e', { talk: { retry: { attempts: 2 } } }));
    const run = await env.begin('flow');
    Object.assign(env.worker, { runAttempt: talking(['a'], true) });
    await env.settle();
    const deltas = await env.ports.streams.from(run, node, 0, 10);
    expect(deltas.map(({ index, attempt: number, text }) => [index, number, text])).toEqual([
      [0, 1, '1a'],
      [1, 2, '2a'],
    ]);
  });
});
