/** What a node says: few writes, no holding up, one owner, and a completion that comes behind all of it. */
import { describe, expect, test } from 'vitest';
import { attempt, firstAttempt, nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import { type Instant, after, durationMs } from '../../lib/engine/time.ts';
import type { MemoryWorld } from '../../lib/memory/memory-world.ts';
import { memoryWorld } from '../../lib/memory/memory-world.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Streams } from '../../lib/ports/streams.ts';
import type { RunAttempt } from '../../lib/service/graph.ts';
import { type Speaker, voiceOf } from '../../lib/service/stream-node.ts';
import { expiresAt, freshRun } from '../contract/samples.ts';
import { failing, finished, house, workflow } from './house.ts';
import { replaced } from './replaced.ts';

const node = nodeKey({ nodeId: nodeId('talk'), iteration: topLevel });
const speaker = (facts: Partial<Speaker> = {}): Speaker => ({
  run: freshRun(),
  node,
  attempt: firstAttempt,
  expiresAt,
  ...facts,
});
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Lets the time pass in steps, with what is to be done in between done. */
const pass = async ({ clock }: MemoryWorld, until: Instant, stepMs: number, each: () => void = () => {}): Promise<void> => {
  while (clock.now() < until) {
    each();
    await turn();
    clock.advance(durationMs(stepMs));
    await turn();
  }
};
const heard = async ({ streams }: Pick<MemoryWorld, 'streams'>, { run }: Speaker) => streams.from(run, node, 0, 1_000);
const whole = (deltas: readonly { readonly text: string }[]): string => deltas.map(({ text }) => text).join('');

/** Counts puts, and lets the test answer some of them. */
const watched = (world: MemoryWorld, answer: (count: number) => Error | undefined = () => undefined) => {
  const seen = { puts: 0 };
  const streams: Streams = {
    put: async (...given) => {
      const trouble = answer((seen.puts += 1));
      if (trouble !== undefined) throw trouble;
      return world.streams.put(...given);
    },
    from: (...given) => world.streams.from(...given),
    last: (...given) => world.streams.last(...given),
  };
  return { deps: { ...world, streams }, seen };
};

test('two thousand tokens at four hundred a second take at most 25 writes, and four in any second', async () => {
  const world = memoryWorld();
  const { deps, seen } = watched(world);
  const one = speaker();
  const voice = voiceOf(deps, one);
  const end = after(world.clock.now(), durationMs(5_000));
  let said = '';
  await pass(world, end, 5, () => {
    for (const token of [`t${said.length} `, 'x']) {
      voice.say(token);
      said += token;
    }
  });
  await voice.end();
  const deltas = await heard(world, one);
  expect(whole(deltas)).toBe(said);
  expect(seen.puts).toBeLessThanOrEqual(25);
  expect(deltas.map(({ index }) => index)).toEqual(deltas.map((_, index) => index));
  const times = deltas.map(({ at }) => at);
  for (const time of times) expect(times.filter((at) => at >= time && at < time + 1_000).length).toBeLessThanOrEqual(4);
});

test('whenever a stream ends, no second of it has more than four writes', async () => {
  for (let endsMs = 0; endsMs <= 2_100; endsMs += 25) {
    const world = memoryWorld();
    const one = speaker();
    const voice = voiceOf(world, one);
    voice.say('first');
    await pass(world, after(world.clock.now(), durationMs(endsMs)), 25, () => voice.say('word '));
    voice.say('last');
    await voice.end();
    const times = (await heard(world, one)).map(({ at }) => at);
    for (const time of times) expect(times.filter((at) => at >= time && at < time + 1_000).length).toBeLessThanOrEqual(4);
  }
});

test('the first word waits for nothing, and a silent node writes nothing', async () => {
  const world = memoryWorld();
  const { deps, seen } = watched(world);
  const silent = voiceOf(deps, speaker());
  silent.say('');
  await silent.end();
  expect(seen.puts).toBe(0);
  const one = speaker();
  const voice = voiceOf(deps, one);
  voice.say('a');
  await turn();
  expect(whole(await heard(world, one))).toBe('a');
  await voice.end();
});

test('what is said after the end is not heard, and no character is cut in two', async () => {
  const world = memoryWorld();
  const one = speaker();
  const voice = voiceOf(world, one);
  const [high, low] = ['\ud83d', '\ude00'];
  voice.say(`a${high}`);
  await turn();
  expect(whole(await heard(world, one))).toBe('a');
  voice.say(low);
  await voice.end();
  voice.say('late');
  await turn();
  expect(whole(await heard(world, one))).toBe('a😀');
});

describe('owners', () => {
  test('the next attempt goes on behind the last index, and the one before is heard no more', async () => {
    const world = memoryWorld();
    const one = speaker();
    const first = voiceOf(world, one);
    first.say('one');
    await turn();
    const second = voiceOf(world, { ...one, attempt: attempt(2) });
    second.say('two');
    await turn();
    first.say('lost');
    await first.end();
    second.say('three');
    await second.end();
    const deltas = await heard(world, one);
    expect(deltas.map(({ index, attempt: number, text }) => [index, number, text])).toEqual([
      [0, 1, 'one'],
      [1, 2, 'two'],
      [2, 2, 'three'],
    ]);
  });

  test('of two executions of one attempt the later one takes over', async () => {
    const world = memoryWorld();
    const one = speaker();
    const [first, second] = [voiceOf(world, one), voiceOf(world, one)];
    first.say('a');
    await turn();
    second.say('b');
    await turn();
    first.say('c');
    second.say('d');
    await Promise.all([first.end(), second.end()]);
    expect(whole(await heard(world, one))).toBe('abd');
  });
});

describe('trouble', () => {
  test('a put whose outcome is unknown is repeated as it was', async () => {
    const world = memoryWorld();
    const { deps, seen } = watched(world, (count) => (count <= 2 ? new Unavailable('the table') : undefined));
    const one = speaker();
    const voice = voiceOf(deps, one);
    voice.say('a');
    await pass(world, after(world.clock.now(), durationMs(100)), 50);
    voice.say('b');
    await pass(world, after(world.clock.now(), durationMs(1_000)), 50);
    await voice.end();
    expect((await heard(world, one)).map(({ text }) => text)).toEqual(['a', 'b']);
    expect(seen.puts).toBe(4);
  });

  test('a put that was carried out and not answered is not said twice', async () => {
    const world = memoryWorld();
    const one = speaker();
    let count = 0;
    const streams: Streams = {
      put: async (...given) => {
        const result = await world.streams.put(...given);
        if ((count += 1) === 1) throw new Unavailable('the table');
        return result;
      },
      from: (...given) => world.streams.from(...given),
      last: (...given) => world.streams.last(...given),
    };
    const voice = voiceOf({ ...world, streams }, one);
    voice.say('a');
    await pass(world, after(world.clock.now(), durationMs(600)), 50);
    voice.say('b');
    await voice.end();
    expect((await heard(world, one)).map(({ text }) => text)).toEqual(['a', 'b']);
  });

  test('a table that stays away ends the stream and not the node', async () => {
    const world = memoryWorld();
    const { deps, seen } = watched(world, () => new Unavailable('the table'));
    const voice = voiceOf(deps, speaker());
    voice.say('a');
    await voice.end();
    expect(seen.puts).toBeLessThanOrEqual(2);
  });
});

describe('in a run', () => {
  test('two thousand tokens at four hundred a second take at most 25 writes in all, the node’s own commits among them', async () => {
    const writes: string[] = [];
    const home = house({
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
          log: replaced(log, {
            put: told('commit', (...given) => log.put(...given)),
            beat: told('beat', (...given) => log.beat(...given)),
          }),
          streams: replaced(streams, { put: told('delta', (...given) => streams.put(...given)) }),
        };
      },
    });
    await home.publish(workflow('flow', 'talk>e'));
    const run = await home.begin('flow');
    let say: (text: string) => void = () => {};
    let hush: () => void = () => {};
    const silence = new Promise<void>((resolve) => (hush = resolve));
    const runAttempt: RunAttempt = async (_node, _input, attempting) => {
      say = attempting.say;
      await silence;
      return { outcome: finished('done'), printed: [] };
    };
    const { clock } = home.world;
    const end = after(clock.now(), durationMs(5_000));
    const working = Promise.all(
      home.world.jobs.takeSent().map((job) => home.take(job, { worker: { ...home.worker, runAttempt } })),
    );
    for (let turns = 0; turns < 5; turns += 1) await turn();
    let tokens = 0;
    await pass(home.world, end, 5, () => {
      for (const token of ['one ', 'two ']) say(token);
      tokens += 2;
    });
    hush();
    await working;
    expect([tokens, (await home.fold(run)).state.progress.status]).toEqual([2_000, 'completed']);
    const count = (name: string): number => writes.filter((each) => each === name).length;
    // That it is at work, which whoever watches sees after a second, and its completion, which is the run's end too.
    expect([count('commit'), count('beat')]).toEqual([2, 0]);
    expect(count('delta')).toBeGreaterThan(15);
    expect(writes.length).toBeLessThanOrEqual(25);
  });

  const talking = (words: readonly string[], failsFirst = false): RunAttempt => {
    return async (_node, _input, { say, number }) => {
      for (const word of words) say(`${number}${word}`);
      return { outcome: failsFirst && number === 1 ? failing() : finished('done'), printed: [] };
    };
  };

  test('everything is written before the completion is', async () => {
    const home = house();
    let whenCommitted = '';
    const log = new Proxy(home.world.log, {
      get: (target, name) => {
        const held: unknown = Reflect.get(target, name);
        if (name !== 'put') return typeof held === 'function' ? (held.bind(target) as unknown) : held;
        const put: typeof target.put = async (run, commit, expires) => {
          if (commit.events.some(({ type }) => type === 'NODE_COMPLETED')) {
            whenCommitted ||= whole(await home.world.streams.from(run, node, 0, 10));
          }
          return target.put(run, commit, expires);
        };
        return put;
      },
    });
    await home.publish(workflow('flow', 'talk>e'));
    const run = await home.begin('flow');
    // A table takes its time; whoever does not wait for it commits first.
    const streams: Streams = {
      put: async (...given) => {
        for (let turns = 0; turns < 20; turns += 1) await turn();
        return home.world.streams.put(...given);
      },
      from: (...given) => home.world.streams.from(...given),
      last: (...given) => home.world.streams.last(...given),
    };
    const worker = { ...home.worker, deps: { ...home.deps, log, streams }, runAttempt: talking(['a', 'b', 'c']) };
    for (const job of home.world.jobs.takeSent()) await home.take(job, { worker });
    expect(whenCommitted).toBe('1a1b1c');
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  test('over a retry indexes go on, and each delta says its attempt', async () => {
    const home = house();
    await home.publish(workflow('flow', 'talk>e', { talk: { retry: { attempts: 2 } } }));
    const run = await home.begin('flow');
    Object.assign(home.worker, { runAttempt: talking(['a'], true) });
    await home.settle();
    const deltas = await home.world.streams.from(run, node, 0, 10);
    expect(deltas.map(({ index, attempt: number, text }) => [index, number, text])).toEqual([
      [0, 1, '1a'],
      [1, 2, '2a'],
    ]);
  });
});
