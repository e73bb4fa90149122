/** Contract of `WorkQueue`. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Hops, hops } from '../../lib/engine/hops.ts';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import type { ReceivedMessage, WorkQueue } from '../../lib/ports/work-queue.ts';
import type { Opened, Subject } from './subject.ts';

export interface WorkQueueUnderTest {
  readonly queue: WorkQueue;
  send(group: string, body: string, hops?: Hops): Promise<void>;
  /** advances the clock, so that visibility timeouts end */
  advance(time: DurationMs): Promise<void>;
}

const at = (maxMessages: number, visibilityTimeout = seconds(60)) => ({
  maxMessages,
  waitTime: durationMs(0),
  visibilityTimeout,
});
const bodies = (messages: readonly ReceivedMessage[]): readonly string[] => messages.map(({ body }) => body);

export const workQueueSuite = ({ name, open }: Subject<WorkQueueUnderTest>) =>
  describe(`work queue: ${name}`, () => {
    let opened: Opened<WorkQueueUnderTest>;
    let filled: WorkQueueUnderTest;
    let groups = 0;
    /** unique for each test */
    let group = '';
    beforeAll(async () => {
      opened = await open();
      filled = opened.port;
    });
    afterAll(() => opened.close());
    beforeEach(() => {
      groups += 1;
      group = `g${groups}`;
    });

    const taken = async (body: string): Promise<ReceivedMessage> => {
      await filled.send(group, body);
      const [message, ...more] = await filled.queue.receive(at(1));
      if (message === undefined || more.length > 0) throw new Error('not exactly one message was received');
      return message;
    };

    test('a message has its body, its group and its receive count', async () => {
      const message = await taken('one');
      expect(message).toMatchObject({ body: 'one', group, receiveCount: 1 });
      expect(await filled.queue.changeVisibility(message, durationMs(0))).toBe('changed');
      const [again] = await filled.queue.receive(at(1));
      expect(again).toMatchObject({ id: message.id, body: 'one', group, receiveCount: 2 });
      await filled.queue.delete(again ?? message);
    });

    test('a message has its hops, with 0 by default', async () => {
      await filled.send(group, 'one', hops(5));
      await filled.send(`${group}-other`, 'two');
      const messages = await filled.queue.receive(at(10));
      expect(messages.map((message) => [message.body, message.hops])).toEqual([
        ['one', 5],
        ['two', 0],
      ]);
      for (const message of messages) await filled.queue.delete(message);
    });

    test('while a message is in flight its group is blocked, and other groups are not', async () => {
      const message = await taken('first');
      await filled.send(group, 'second');
      await filled.send(`${group}-other`, 'third');
      const others = await filled.queue.receive(at(10));
      expect(bodies(others)).toEqual(['third']);
      await filled.queue.delete(message);
      const next = await filled.queue.receive(at(10));
      expect(bodies(next)).toEqual(['second']);
      for (const each of [...others, ...next]) await filled.queue.delete(each);
      expect(await filled.queue.receive(at(10))).toEqual([]);
    });

    test('an extended visibility timeout counts from the extension, and the message is redelivered after it', async () => {
      await filled.send(group, 'held');
      const [message] = await filled.queue.receive(at(1, seconds(1)));
      if (message === undefined) throw new Error('no message was received');
      expect(await filled.queue.changeVisibility(message, seconds(3))).toBe('changed');
      await filled.advance(durationMs(1_500));
      expect(await filled.queue.receive(at(1))).toEqual([]);
      await filled.advance(durationMs(2_000));
      const [again] = await filled.queue.receive(at(1));
      expect(again).toMatchObject({ id: message.id, receiveCount: 2 });
      expect(await filled.queue.changeVisibility(message, seconds(1))).toBe('receipt_expired');
      await filled.queue.delete(again ?? message);
    });

    test('the visibility of a deleted message cannot be changed, and a repeated delete succeeds', async () => {
      const message = await taken('done');
      await filled.queue.delete(message);
      await filled.queue.delete(message);
      expect(await filled.queue.changeVisibility(message, seconds(1))).toBe('receipt_expired');
    });

    test('the queue has a default visibility timeout', async () => {
      expect(await filled.queue.defaultVisibilityTimeout()).toBeGreaterThan(0);
    });
  });
