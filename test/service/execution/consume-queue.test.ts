/** The queue consumer of a long-running process: concurrency, message groups, visibility timeouts, redelivery and drain. */
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

interface HandledMessage {
  readonly body: string;
  readonly isRedelivered: boolean;
  readonly drainSignal: AbortSignal;
  readonly end: (error?: Error) => void;
}

/** Waits until only the clock can cause progress. */
const settle = async (): Promise<void> => {
  for (let round = 0; round < 10; round += 1) await new Promise((resolve) => setImmediate(resolve));
};

async function startConsumer({ concurrency = 10, wrap = (queue: WorkQueue): WorkQueue => queue } = {}) {
  const clock = new MemoryClock(instant(0));
  const queue = new MemoryWorkQueue(clock);
  const handled: HandledMessage[] = [];
  const events: ConsumerEvent[] = [];
  const stop = new AbortController();
  const options: ConsumerOptions = {
    queue: wrap(queue),
    clock,
    concurrency,
    visibilityTimeout,
    drain,
    report: (event) => void events.push(event),
    handle: (body, how) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error): void => (error === undefined ? resolve() : reject(error));
        handled.push({ body, ...how, end });
      }),
  };
  let ended: ConsumerResult | Error | undefined;
  void consumeQueue(options, stop.signal).then(
    (result) => (ended = result),
    (error: Error) => (ended = error),
  );
  await settle();
  return {
    clock,
    queue,
    events,
    handled,
    kinds: () => events.map(({ kind }) => kind),
    bodies: () => handled.map(({ body }) => body),
    ended: () => ended,
    send: async (...messages: readonly (readonly [string, string])[]) => {
      for (const [group, body] of messages) queue.send(group, body);
      await settle();
    },
    end: async (body: string, error?: Error) => {
      handled.findLast((each) => each.body === body)?.end(error);
      await settle();
    },
    /** Advances the clock in steps shorter than any wait. */
    pass: async (time: DurationMs) => {
      for (let remaining: number = time; remaining > 0; remaining -= 1_000) {
        clock.advance(durationMs(Math.min(remaining, 1_000)));
        await settle();
      }
    },
    stop: async () => {
      stop.abort();
      await settle();
    },
  };
}
const many = (count: number) => Array.from({ length: count }, (_, at) => [`g${at}`, `m${at}`] as const);

describe('receiving', () => {
  test('at most `concurrency` messages are in flight, and the next is received when one ends', async () => {
    const { send, bodies, end, queue, pass } = await startConsumer({ concurrency: 2 });
    await send(...many(5));
    await pass(seconds(10));
    expect(bodies()).toEqual(['m0', 'm1']);
    await end('m0');
    expect(bodies()).toEqual(['m0', 'm1', 'm2']);
    for (const body of ['m1', 'm2', 'm3', 'm4']) await end(body);
    expect(queue.bodies).toEqual([]);
  });

  test('messages of one group are processed in order, one at a time; two groups run in parallel', async () => {
    const { send, bodies, end, queue } = await startConsumer();
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

  test('a message received together with another of its group waits for that one', async () => {
    const both = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: async (wanted) => {
        const [first] = await queue.receive({ ...wanted, maxMessages: 1 });
        if (first === undefined) return [];
        return [first, { ...first, id: 'other', receiptHandle: 'other', body: 'behind' }];
      },
    });
    const { send, bodies, end } = await startConsumer({ wrap: both });
    await send(['a', 'first']);
    expect(bodies()).toEqual(['first']);
    await end('first');
    expect(bodies()).toEqual(['first', 'behind']);
  });

  test('a message is deleted after it is processed, and not before', async () => {
    const { send, queue, end, handled } = await startConsumer();
    await send(['a', 'one']);
    expect([queue.bodies, handled[0]?.isRedelivered]).toEqual([['one'], false]);
    await end('one');
    expect(queue.bodies).toEqual([]);
  });
});

describe('visibility timeout', () => {
  test('a message that takes long stays in flight', async () => {
    const { send, queue, pass, end, events } = await startConsumer();
    await send(['a', 'long']);
    await pass(minutes(10));
    expect([queue.visibleBodies, events.filter(({ kind }) => kind !== 'started')]).toEqual([[], []]);
    await end('long');
    expect(queue.bodies).toEqual([]);
  });

  test('a failed extension does no harm, and is reported', async () => {
    let fails = 1;
    const failingOnce = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      changeVisibility: (message, time) => {
        fails -= 1;
        return fails === 0 ? Promise.reject(new Unavailable('the queue')) : queue.changeVisibility(message, time);
      },
    });
    const { send, queue, pass, kinds } = await startConsumer({ wrap: failingOnce });
    await send(['a', 'long']);
    await pass(minutes(2));
    expect([queue.visibleBodies, kinds()]).toEqual([[], ['started', 'backing_off']]);
  });

  test('a message whose receipt expired and that is redelivered to the same consumer does not start twice', async () => {
    let isFailing = true;
    const failing = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      changeVisibility: (message, time) =>
        isFailing ? Promise.reject(new Unavailable('the queue')) : queue.changeVisibility(message, time),
    });
    const { send, queue, pass, end, bodies } = await startConsumer({ wrap: failing });
    await send(['a', 'long']);
    await pass(seconds(45));
    isFailing = false;
    await pass(seconds(45));
    expect([bodies(), queue.visibleBodies]).toEqual([['long'], []]);
    await end('long');
    expect(queue.bodies).toEqual([]);
  });
});

describe('errors', () => {
  test('a failed message is redelivered after the queue’s visibility timeout, before later messages of its group', async () => {
    const { send, end, handled, bodies, pass, events } = await startConsumer();
    await send(['a', 'one'], ['a', 'two']);
    await end('one', new Error('broken'));
    expect(events.at(-1)).toMatchObject({ kind: 'will_be_redelivered', message: { body: 'one' }, error: { message: 'broken' } });
    await pass(minutes(15));
    expect(bodies()).toEqual(['one']);
    await pass(minutes(2));
    expect([bodies(), handled[1]?.isRedelivered]).toEqual([['one', 'one'], true]);
    await end('one');
    expect(bodies()).toEqual(['one', 'one', 'two']);
  });

  test('after Unavailable the consumer retries with growing delays, and uses up no delivery', async () => {
    const { send, end, handled, pass, events, queue } = await startConsumer();
    await send(['a', 'one']);
    const waits: number[] = [];
    for (let tries = 1; tries <= 12; tries += 1) {
      await end('one', new Unavailable('the table'));
      const event = events.at(-1);
      if (event?.kind !== 'backing_off') throw new Error('the consumer did not back off');
      waits.push(event.delayMs / 1_000);
      expect(event.failures).toBe(tries);
      expect(handled).toHaveLength(tries);
      await pass(event.delayMs);
      expect(handled).toHaveLength(tries + 1);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]);
    expect(handled.at(-1)?.isRedelivered).toBe(true);
    await end('one');
    const [remaining] = await queue.receive({ maxMessages: 1, waitTime: durationMs(0), visibilityTimeout });
    expect(remaining).toBeUndefined();
  });

  test('an unavailable queue is polled again, and each failure is reported', async () => {
    let fails = 3;
    const unavailable = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: (wanted) => {
        fails -= 1;
        return fails >= 0 ? Promise.reject(new Unavailable('the queue')) : queue.receive(wanted);
      },
    });
    const { send, pass, bodies, kinds } = await startConsumer({ wrap: unavailable });
    await send(['a', 'one']);
    await pass(seconds(1));
    await pass(seconds(2));
    expect(bodies()).toEqual([]);
    await pass(seconds(4));
    expect([bodies(), kinds()]).toEqual([['one'], ['started', 'backing_off', 'backing_off', 'backing_off']]);
  });

  test('a permanent error of the queue ends the consumer, after the messages in flight have drained', async () => {
    let isGone = false;
    const gone = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: (wanted) => (isGone ? Promise.reject(new Error('no such queue')) : queue.receive(wanted)),
    });
    const { send, end, ended, handled } = await startConsumer({ wrap: gone });
    removeQueue();
    await send(['a', 'one']);
    expect([ended(), handled[0]?.drainSignal.aborted]).toEqual([undefined, true]);
    await end('one');
    expect(ended()).toMatchObject({ message: 'no such queue' });

    function removeQueue(): void {
      isGone = true;
    }
  });

  test('a queue that does not exist at the start is an error at once', async () => {
    const missing = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      defaultVisibilityTimeout: () => Promise.reject(new Error('no such queue')),
    });
    const { ended, kinds } = await startConsumer({ wrap: missing });
    expect([ended(), kinds()]).toMatchObject([{ message: 'no such queue' }, []]);
  });
});

describe('drain', () => {
  test('a stop signals the messages in flight, and starts no further message', async () => {
    const { send, stop, pass, end, ended, handled, queue, bodies } = await startConsumer();
    await send(['a', 'one']);
    expect(handled[0]?.drainSignal.aborted).toBe(false);
    await stop();
    expect(handled[0]?.drainSignal.aborted).toBe(true);
    await send(['b', 'late']);
    await pass(seconds(5));
    expect([bodies(), ended(), queue.visibleBodies]).toEqual([['one'], undefined, ['late']]);
    await end('one');
    expect([ended(), queue.bodies]).toEqual([{ handled: 1, abandoned: 0 }, ['late']]);
  });

  test('a message in flight after the drain time is released at once, and reported', async () => {
    const { send, stop, pass, ended, queue, events } = await startConsumer();
    await send(['a', 'long']);
    await stop();
    await pass(seconds(24));
    expect([ended(), queue.visibleBodies]).toEqual([undefined, []]);
    await pass(seconds(2));
    expect([ended(), queue.visibleBodies]).toEqual([{ handled: 0, abandoned: 1 }, ['long']]);
    expect(events.at(-1)).toMatchObject({ kind: 'abandoned', message: { body: 'long' } });
  });

  test('messages in backoff, or behind another of their group, are released at once', async () => {
    const two = (queue: WorkQueue): WorkQueue => ({
      ...bound(queue),
      receive: async (wanted) => (await queue.receive({ ...wanted, maxMessages: 1 })).flatMap((one) => [one, behind(one)]),
    });
    const released: string[] = [];
    const recording = (queue: WorkQueue): WorkQueue => ({
      ...two(queue),
      changeVisibility: (message, time) => {
        if (time === 0) released.push(message.body);
        return queue.changeVisibility(message, time);
      },
    });
    const { send, stop, end, pass, ended, queue } = await startConsumer({ wrap: recording });
    await send(['a', 'one']);
    await end('one', new Unavailable('the table'));
    await stop();
    await pass(seconds(5));
    // The receive in progress returned both messages again.
    expect(released.toSorted()).toEqual(['behind one', 'behind one', 'one', 'one']);
    expect([queue.visibleBodies, ended()]).toEqual([['one'], { handled: 0, abandoned: 0 }]);
  });

  test('without a message in flight it ends when the current receive returns', async () => {
    const { stop, pass, ended, kinds } = await startConsumer();
    await stop();
    await pass(seconds(5));
    expect([ended(), kinds()]).toEqual([{ handled: 0, abandoned: 0 }, ['started']]);
  });

  test('a message of the last receive is released unprocessed', async () => {
    const { stop, send, queue, ended, bodies, clock } = await startConsumer();
    await stop();
    await send(['a', 'late']);
    clock.advance(seconds(5));
    await settle();
    expect([bodies(), queue.visibleBodies, ended()]).toEqual([[], ['late'], { handled: 0, abandoned: 0 }]);
  });
});

const behind = (one: ReceivedMessage): ReceivedMessage => ({
  ...one,
  id: `${one.id}'`,
  receiptHandle: `${one.receiptHandle}'`,
  body: `behind ${one.body}`,
});

/** The queue's methods as a plain object, to be overridden. */
const bound = (queue: WorkQueue): WorkQueue => ({
  defaultVisibilityTimeout: () => queue.defaultVisibilityTimeout(),
  receive: (wanted) => queue.receive(wanted),
  changeVisibility: (message, time) => queue.changeVisibility(message, time),
  delete: (message) => queue.delete(message),
});
