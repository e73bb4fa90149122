import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { startFauxqs, type Fauxqs } from '../../lib/local/emulators/fauxqs.ts';
import { defaultAsyncInvokeConfig } from '../../lib/local/lambda/async-invoke.ts';
import type { LambdaFunction, Refused } from '../../lib/local/lambda/function.ts';
import type { InvokeOutcome } from '../../lib/local/lambda/thread.ts';
import type { Mapping } from '../../lib/local/pollers/mapping.ts';
import { startPoller, type Poller } from '../../lib/local/pollers/poller.ts';
import { createQueueClient, type QueueClient } from '../../lib/local/pollers/queue-client.ts';
import { createRecorder, type RecordedCall } from '../../lib/local/recorder.ts';
import { freshFolder } from './stacks.ts';

const queueUrl = 'http://127.0.0.1/000000000000/q.fifo';
const eventShape = z.object({
  Records: z.array(
    z.object({
      messageId: z.string(),
      body: z.string(),
      eventSourceARN: z.string(),
      attributes: z.object({ ApproximateReceiveCount: z.coerce.number() }),
    }),
  ),
});
/** A busy machine is slow. */
const timeoutOptions = { timeout: 10_000 };
const done: InvokeOutcome = { kind: 'returned', payload: '{}' };

let fauxqs: Fauxqs;
let queues: QueueClient;
let calls: RecordedCall[];
/** the calls that a bench may delay, and the invocations between them */
let delayable: string[];
const callDelay = async (service: string, operation: string): Promise<void> => void delayable.push(`${service} ${operation}`);
const pollers: Poller[] = [];

beforeEach(async () => {
  fauxqs = await startFauxqs(freshFolder());
  fauxqs.ensureQueue('q.fifo', { FifoQueue: 'true', VisibilityTimeout: '30', ContentBasedDeduplication: 'true' });
  const recorder = createRecorder();
  calls = [];
  delayable = [];
  recorder.listen((call) => void calls.push(call));
  queues = createQueueClient(fauxqs.queues, recorder, 'pollers', callDelay);
});
afterEach(async () => {
  await Promise.all(pollers.splice(0).map((poller) => poller.stop()));
  await fauxqs.stop();
});

/** A poller of a function whose outcome is that of `handle`, with the batches that the function received. */
function poll(
  handle: (bodies: readonly string[], ids: readonly string[]) => Promise<InvokeOutcome | Refused>,
  more: Partial<Mapping> = {},
) {
  const batches: string[][] = [];
  const receives: number[] = [];
  const warned: string[] = [];
  const target: LambdaFunction = {
    name: 'fn',
    arn: 'arn:fn',
    concurrency: 4,
    timeoutMs: 1_000,
    asyncInvoke: defaultAsyncInvokeConfig,
    keepLoaded: () => {},
    recursionError: () => undefined,
    async invoke(event) {
      const { Records } = eventShape.parse(JSON.parse(event));
      const bodies = Records.map(({ body }) => body);
      delayable.push('invoke');
      receives.push(...Records.map(({ attributes }) => attributes.ApproximateReceiveCount));
      batches.push(bodies);
      return handle(
        bodies,
        Records.map(({ messageId }) => messageId),
      );
    },
    stop: async () => {},
  };
  const mapping: Mapping = {
    queueArn: 'arn:q',
    queueUrl,
    maxReceiveCount: undefined,
    target,
    batchSize: 10,
    concurrency: 4,
    reportsFailures: true,
    ...more,
  };
  const poller = startPoller(mapping, queues, {
    endLongPolls: () => fauxqs.endLongPolls(),
    warn: (line) => void warned.push(line),
    throttledVisibilityMs: 10,
    callDelay,
  });
  pollers.push(poller);
  return { batches, receives, warned, poller };
}

const send = async (group: string, ...bodies: readonly string[]): Promise<void> => {
  for (const body of bodies) await queues.send(queueUrl, body, group);
};
const isEmpty = () =>
  vi.waitFor(() => expect(fauxqs.depth('q.fifo')).toEqual({ ready: 0, delayed: 0, inFlight: 0 }), timeoutOptions);

describe('a poller', { timeout: 20_000 }, () => {
  test('delivers batches of the configured size and deletes processed messages', async () => {
    await send('g', 'm1', 'm2', 'm3');
    const { batches } = poll(async () => done, { batchSize: 2 });
    await isEmpty();
    expect(batches).toEqual([['m1', 'm2'], ['m3']]);
  });

  test('lets a bench delay the receipt of messages and their deletion', async () => {
    await send('g', 'm1');
    poll(async () => done);
    await isEmpty();
    expect(delayable).toEqual(['sqs receipt', 'invoke', 'sqs DeleteMessageBatch']);
  });

  test('returns a message of a throttled invocation to the queue with a higher receive count', async () => {
    await send('g', 'm1');
    let throttled = 3;
    const { batches, receives, warned } = poll(async () => {
      throttled -= 1;
      return throttled < 0 ? done : { kind: 'refused', code: 'TooManyRequestsException', message: 'Rate Exceeded.' };
    });
    await isEmpty();
    expect(batches).toEqual([['m1'], ['m1'], ['m1'], ['m1']]);
    expect(receives).toEqual([1, 2, 3, 4]);
    expect(warned).toEqual([]);
  });

  test('receives a message that arrives during a long poll', async () => {
    const { batches } = poll(async () => done);
    await send('g', 'late');
    await isEmpty();
    expect(batches).toEqual([['late']]);
  });

  test('does not receive from a group with a batch in flight, and processes another group', async () => {
    let finish = (): void => {};
    const held = new Promise<void>((resolve) => (finish = resolve));
    await send('a', 'a1', 'a2');
    await send('b', 'b1');
    const { batches } = poll(async ([body]) => (body === 'a1' ? held.then(() => done) : done), { batchSize: 1 });
    await vi.waitFor(() => expect(batches).toContainEqual(['b1']), timeoutOptions);
    expect(batches).not.toContainEqual(['a2']);
    finish();
    await isEmpty();
    expect(batches).toEqual([['a1'], ['b1'], ['a2']]);
  });

  test('has at most as many batches in flight as its concurrency', async () => {
    let open = 0;
    let most = 0;
    for (const group of ['a', 'b', 'c', 'd', 'e']) await send(group, group);
    poll(
      async () => {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open--;
        return done;
      },
      { batchSize: 1, concurrency: 2 },
    );
    await isEmpty();
    expect(most).toBe(2);
  });

  test('deletes processed messages and keeps reported failures', async () => {
    await send('g', 'm1', 'm2', 'm3');
    const { batches } = poll(async (_bodies, ids) => ({
      kind: 'returned',
      payload: JSON.stringify({ batchItemFailures: ids.slice(1).map((itemIdentifier) => ({ itemIdentifier })) }),
    }));
    await vi.waitFor(() => expect(fauxqs.depth('q.fifo')).toEqual({ ready: 0, delayed: 0, inFlight: 2 }), timeoutOptions);
    expect(batches).toEqual([['m1', 'm2', 'm3']]);
  });

  describe('after a partial failure of a batch of one group', () => {
    /** The function reports `m2` as failed on its first `failures` receives. Meanwhile `later` is sent. */
    const pollFailing = (failures: number, later: () => Promise<void>) => {
      let left = failures;
      return poll(async (bodies, ids) => {
        if (bodies.includes('m1')) await later();
        const itemIdentifier = ids[bodies.indexOf('m2')];
        const batchItemFailures = itemIdentifier !== undefined && left-- > 0 ? [{ itemIdentifier }] : [];
        return { kind: 'returned', payload: JSON.stringify({ batchItemFailures }) };
      });
    };

    test('deletes the messages that were not reported, and receives no later message before the failed one', async () => {
      fauxqs.ensureQueue('q.fifo', { FifoQueue: 'true', VisibilityTimeout: '1', ContentBasedDeduplication: 'true' });
      await send('g', 'm1', 'm2', 'm3');
      const { batches, receives } = pollFailing(2, async () => {
        await send('g', 'm4');
        await send('other', 'o1');
      });
      await isEmpty();
      // m4 waits while m2 is in flight and follows it in the next batch. Then m4 is deleted, and m2 returns alone.
      expect(batches).toEqual([['m1', 'm2', 'm3'], ['o1'], ['m2', 'm4'], ['m2']]);
      expect(receives).toEqual([1, 1, 1, 1, 2, 1, 3]);
    });

    test('continues with later messages when the failed one goes to the dead-letter queue', async () => {
      fauxqs.ensureQueue('dead.fifo', { FifoQueue: 'true' });
      const RedrivePolicy = JSON.stringify({
        deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead.fifo',
        maxReceiveCount: 1,
      });
      fauxqs.ensureQueue('q.fifo', {
        FifoQueue: 'true',
        VisibilityTimeout: '1',
        ContentBasedDeduplication: 'true',
        RedrivePolicy,
      });
      await send('g', 'm1', 'm2', 'm3');
      const { batches } = pollFailing(Infinity, () => send('g', 'm4'));
      await isEmpty();
      expect(batches).toEqual([['m1', 'm2', 'm3'], ['m4']]);
      expect(fauxqs.depth('dead.fifo').ready).toBe(1);
    });
  });

  test.each([
    ['fails', { kind: 'failed', error: { errorType: 'E', errorMessage: 'm' } }],
    ['reports in a wrong shape', { kind: 'returned', payload: '{"batchItemFailures":[{}]}' }],
  ] as const)('keeps the whole batch where the function %s', async (_name, outcome) => {
    await send('g', 'm1', 'm2');
    const { batches } = poll(async () => outcome);
    await vi.waitFor(() => expect(batches).toEqual([['m1', 'm2']]), timeoutOptions);
    await vi.waitFor(() => expect(fauxqs.depth('q.fifo')).toEqual({ ready: 0, delayed: 0, inFlight: 2 }), timeoutOptions);
  });

  test('that is stopped completes and deletes its batches, and receives no more', async () => {
    let finish = (): void => {};
    const held = new Promise<void>((resolve) => (finish = resolve));
    await send('a', 'a1');
    const { poller, batches } = poll(() => held.then(() => done));
    await vi.waitFor(() => expect(batches).toHaveLength(1), timeoutOptions);
    const stopped = poller.stop();
    // the long poll has returned without messages
    await vi.waitFor(
      () => expect(calls.filter(({ operation }) => operation === 'ReceiveMessage')).toHaveLength(2),
      timeoutOptions,
    );
    await send('b', 'b1');
    finish();
    await stopped;
    expect(batches).toEqual([['a1']]);
    expect(fauxqs.depth('q.fifo')).toEqual({ ready: 1, delayed: 0, inFlight: 0 });
  });

  test('is recorded as a caller of the queue, with its empty receives', async () => {
    const { poller } = poll(async () => done);
    await poller.stop();
    expect(calls.map(({ caller, operation }) => `${caller} ${operation}`)).toEqual(['pollers ReceiveMessage']);
  });
});
