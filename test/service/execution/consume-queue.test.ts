/** Working off a queue in a process of one's own: so many at once, one of a group at a time, held, deleted when done, and let go of. */
import { describe, expect, test } from 'vitest';
import { type DurationMs, durationMs, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { MemoryClock } from '../../../lib/memory/clock.ts';
import { MemoryWorkQueue } from '../../../lib/memory/work-queue.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { ReceivedMessage, WorkQueue } from '../../../lib/ports/work-queue.ts';
import {
  type ConsumerOptions,
  type ConsumerEvent,
  type ConsumerResult,
  consumeQueue,
} from '../../../lib/service/execution/consume-queue.ts';

const visibilityTimeout = seconds(30);
const drain = seconds(25);

interface Taken {
  readonly body: string;
  readonly isRedelivered: boolean;
  readonly drainSignal: AbortSignal;
  readonly end: (trouble?: Error) => void;
}

/** Until nothing happens any more but with time. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

async function atWork({ concurrency = 10, wrap = (queue: WorkQueue): WorkQueue => queue } = {}) {
  const clock = new MemoryClock(instant(0));
  const queue = new MemoryWorkQueue(clock);
  const taken: Taken[] = [];
  const notes: ConsumerEvent[] = [];
  const stop = new AbortController();
  const work: ConsumerOptions = {
    queue: wrap(queue),
    clock,
    concurrency,
    visibilityTimeout,
    drain,
    report: (note) => void notes.push(note),
    handle: (body, how) =>
      new Promise((resolve, reject) => {
        const end = (trouble?: Error): void => (trouble === undefined ? resolve() : reject(trouble));
        taken.push({ body, ...how, end });
      }),
  };
  let ended: ConsumerResult | Error | undefined;
  void consumeQueue(work, stop.signal).then(
    (worked) => (ended = worked),
    (trouble: Error) => (ended = trouble),
  );
  await quiet();
  return {
    clock,
    queue,
    notes,
    taken,
    kinds: () => notes.map(({ kind }) => kind),
    bodies: () => taken.map(({ body }) => body),
    ended: () => ended,
    send: async (...messages: readonly (readonly [string, string])[]) => {
      for (const [group, body] of messages) queue.send(group, body);
      await quiet();
    },
    end: async (body: string, trouble?: Error) => {
      taken.findLast((each) => each.body === body)?.end(trouble);
      await quiet();
    },
    /** in steps that are shorter than any wait */
    pass: async (time: DurationMs) => {
      for (let left: number = time; left > 0; left -= 1_000) {
        clock.advance(durationMs(Math.min(left, 1_000)));
        await quiet();
      }
    },
    stop: async () => {
      stop.abort();
      await quiet();
    },
  };
}
const many = (count: number) => Array.from({ length: count }, (_, at) => [`g${at}`, `m${at}`] as const);

describe('what is taken', () => {
  test('no more is in these hands at once than they may have, and the next comes when one has ended', async () => {
    const { send, bodies, end, queue, pass } = await atWork({ concurrency: 2 });
    await send(...many(5));
    await pass(seconds(10));
    expect(bodies()).toEqual(['m0', 'm1']);
    await end('m0');
    expect(bodies()).toEqual(['m0', 'm1', 'm2']);
    for (const body of ['m1', 'm2', 'm3', 'm4']) await end(body);
    expect(queue.bodies).toEqual([]);
  });

  test('of one group one is at work at a time, in order, and of two groups two are', async () => {
    const { send, bodies, end, queue } = await atWork();
    queue.send('a', 'a1');
    queue.send('a', 'a2');
    await send(['b', 'b1']);
    expect(bodies()).toEqual(['a1', 'b1']);
    await end('a1');
    expect(bodies()).toEqual(['a1', 'b1', 'a2']);
    await end('a2');
    await end('b1');
    expect(queue.bodies).toEqual([]);
  });

  test('what came along in one receive with another of its group waits for that one', async () => {
    const both = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: async (wanted) => {
        const [first] = await queue.receive({ ...wanted, maxMessages: 1 });
        if (first === undefined) return [];
        return [first, { ...first, id: 'other', receiptHandle: 'other', body: 'behind' }];
      },
    });
    const { send, bodies, end } = await atWork({ wrap: both });
    await send(['a', 'first']);
    expect(bodies()).toEqual(['first']);
    await end('first');
    expect(bodies()).toEqual(['first', 'behind']);
  });

  test('is deleted when it is done, and not before', async () => {
    const { send, queue, end, taken } = await atWork();
    await send(['a', 'one']);
    expect([queue.bodies, taken[0]?.isRedelivered]).toEqual([['one'], false]);
    await end('one');
    expect(queue.bodies).toEqual([]);
  });
});

describe('signs of life', () => {
  test('what takes hours stays in these hands', async () => {
    const { send, queue, pass, end, notes } = await atWork();
    await send(['a', 'long']);
    await pass(minutes(10));
    expect([queue.visibleBodies, notes.filter(({ kind }) => kind !== 'started')]).toEqual([[], []]);
    await end('long');
    expect(queue.bodies).toEqual([]);
  });

  test('one that cannot be given is no harm, and is said', async () => {
    let fails = 1;
    const shaky = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      changeVisibility: (message, time) => {
        fails -= 1;
        return fails === 0 ? Promise.reject(new Unavailable('the queue')) : queue.changeVisibility(message, time);
      },
    });
    const { send, queue, pass, kinds } = await atWork({ wrap: shaky });
    await send(['a', 'long']);
    await pass(minutes(2));
    expect([queue.visibleBodies, kinds()]).toEqual([[], ['begins', 'waits']]);
  });

  test('a message that has slipped out of these hands and comes back to them is not begun twice', async () => {
    let isDeaf = true;
    const deaf = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      changeVisibility: (message, time) =>
        isDeaf ? Promise.reject(new Unavailable('the queue')) : queue.changeVisibility(message, time),
    });
    const { send, queue, pass, end, bodies } = await atWork({ wrap: deaf });
    await send(['a', 'long']);
    await pass(seconds(45));
    isDeaf = false;
    await pass(seconds(45));
    expect([bodies(), queue.visibleBodies]).toEqual([['long'], []]);
    await end('long');
    expect(queue.bodies).toEqual([]);
  });
});

describe('trouble', () => {
  test('what fails comes back after the queue’s own time, as a redelivery, and what was behind it stays behind', async () => {
    const { send, end, taken, bodies, pass, notes } = await atWork();
    await send(['a', 'one'], ['a', 'two']);
    await end('one', new Error('broken'));
    expect(notes.at(-1)).toMatchObject({ kind: 'comes_back', message: { body: 'one' }, trouble: { message: 'broken' } });
    await pass(minutes(15));
    expect(bodies()).toEqual(['one']);
    await pass(minutes(2));
    expect([bodies(), taken[1]?.isRedelivered]).toEqual([['one', 'one'], true]);
    await end('one');
    expect(bodies()).toEqual(['one', 'one', 'two']);
  });

  test('trouble that passes is waited out in these hands, ever longer, and uses up no delivery', async () => {
    const { send, end, taken, pass, notes, queue } = await atWork();
    await send(['a', 'one']);
    const waits: number[] = [];
    for (let tries = 1; tries <= 12; tries += 1) {
      await end('one', new Unavailable('the table'));
      const note = notes.at(-1);
      if (note?.kind !== 'backing_off') throw new Error('nothing was waited for');
      waits.push(note.delayMs / 1_000);
      expect(note.failures).toBe(tries);
      expect(taken).toHaveLength(tries);
      await pass(note.delayMs);
      expect(taken).toHaveLength(tries + 1);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]);
    expect(taken.at(-1)?.isRedelivered).toBe(true);
    await end('one');
    const [left] = await queue.receive({ maxMessages: 1, waitTime: durationMs(0), visibilityTimeout });
    expect(left).toBeUndefined();
  });

  test('a queue that is not available is asked again; what is said of it is said each time', async () => {
    let fails = 3;
    const away = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: (wanted) => {
        fails -= 1;
        return fails >= 0 ? Promise.reject(new Unavailable('the queue')) : queue.receive(wanted);
      },
    });
    const { send, pass, bodies, kinds } = await atWork({ wrap: away });
    await send(['a', 'one']);
    await pass(seconds(1));
    await pass(seconds(2));
    expect(bodies()).toEqual([]);
    await pass(seconds(4));
    expect([bodies(), kinds()]).toEqual([['one'], ['begins', 'waits', 'waits', 'waits']]);
  });

  test('a queue that is wrong for good ends it, when what is at work has rested', async () => {
    let isGone = false;
    const gone = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: (wanted) => (isGone ? Promise.reject(new Error('no such queue')) : queue.receive(wanted)),
    });
    const { send, end, ended, taken } = await atWork({ wrap: gone });
    queueGone();
    await send(['a', 'one']);
    expect([ended(), taken[0]?.drainSignal.aborted]).toEqual([undefined, true]);
    await end('one');
    expect(ended()).toMatchObject({ message: 'no such queue' });

    function queueGone(): void {
      isGone = true;
    }
  });

  test('one that is not there at the beginning is told at once', async () => {
    const missing = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      defaultVisibilityTimeout: () => Promise.reject(new Error('no such queue')),
    });
    const { ended, kinds } = await atWork({ wrap: missing });
    expect([ended(), kinds()]).toMatchObject([{ message: 'no such queue' }, []]);
  });
});

describe('the end', () => {
  test('what is at work is told to rest, and nothing is begun any more', async () => {
    const { send, stop, pass, end, ended, taken, queue, bodies } = await atWork();
    await send(['a', 'one']);
    expect(taken[0]?.drainSignal.aborted).toBe(false);
    await stop();
    expect(taken[0]?.drainSignal.aborted).toBe(true);
    await send(['b', 'late']);
    await pass(seconds(5));
    expect([bodies(), ended(), queue.visibleBodies]).toEqual([['one'], undefined, ['late']]);
    await end('one');
    expect([ended(), queue.bodies]).toEqual([{ done: 1, left: 0 }, ['late']]);
  });

  test('what is not at rest in time is free for others at once, and is said', async () => {
    const { send, stop, pass, ended, queue, notes } = await atWork();
    await send(['a', 'long']);
    await stop();
    await pass(seconds(24));
    expect([ended(), queue.visibleBodies]).toEqual([undefined, []]);
    await pass(seconds(2));
    expect([ended(), queue.visibleBodies]).toEqual([{ done: 0, left: 1 }, ['long']]);
    expect(notes.at(-1)).toMatchObject({ kind: 'left', message: { body: 'long' } });
  });

  test('what waits for trouble to pass, or behind another one, is free at once', async () => {
    const two = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: async (wanted) => (await queue.receive({ ...wanted, maxMessages: 1 })).flatMap((one) => [one, behind(one)]),
    });
    const freed: string[] = [];
    const noting = (queue: WorkQueue): WorkQueue => ({
      ...two(queue),
      changeVisibility: (message, time) => {
        if (time === 0) freed.push(message.body);
        return queue.changeVisibility(message, time);
      },
    });
    const { send, stop, end, pass, ended, queue } = await atWork({ wrap: noting });
    await send(['a', 'one']);
    await end('one', new Unavailable('the table'));
    await stop();
    await pass(seconds(5));
    // The receive that was under way had it once more.
    expect(freed.toSorted()).toEqual(['behind one', 'behind one', 'one', 'one']);
    expect([queue.visibleBodies, ended()]).toEqual([['one'], { done: 0, left: 0 }]);
  });

  test('where nothing is at work it ends when the receive that is under way comes back', async () => {
    const { stop, pass, ended, kinds } = await atWork();
    await stop();
    await pass(seconds(5));
    expect([ended(), kinds()]).toEqual([{ done: 0, left: 0 }, ['begins']]);
  });

  test('a message that comes with the last receive goes back untouched', async () => {
    const { stop, send, queue, ended, bodies, clock } = await atWork();
    await stop();
    await send(['a', 'late']);
    clock.advance(seconds(5));
    await quiet();
    expect([bodies(), queue.visibleBodies, ended()]).toEqual([[], ['late'], { done: 0, left: 0 }]);
  });
});

const behind = (one: ReceivedMessage): ReceivedMessage => ({
  ...one,
  id: `${one.id}'`,
  receiptHandle: `${one.receiptHandle}'`,
  body: `behind ${one.body}`,
});

/** A queue whose methods can be taken off it. */
const bound = (queue: WorkQueue): WorkQueue => ({
  defaultVisibilityTimeout: () => queue.defaultVisibilityTimeout(),
  receive: (wanted) => queue.receive(wanted),
  changeVisibility: (message, time) => queue.changeVisibility(message, time),
  delete: (message) => queue.delete(message),
});
