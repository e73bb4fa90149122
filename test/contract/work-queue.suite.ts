/** What every queue of work must deliver to whoever takes from it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Hops, hops } from '../../lib/engine/hops.ts';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import type { ReceivedMessage, WorkQueue } from '../../lib/ports/work-queue.ts';
import type { Opened, Subject } from './subject.ts';

export interface WorkQueueUnderTest {
  readonly queue: WorkQueue;
  send(group: string, body: string, hops?: Hops): Promise<void>;
  /** so that what was held for less is free */
  advance(time: DurationMs): Promise<void>;
}

const at = (maxMessages: number, visibilityTimeout = seconds(60)) => ({
  maxMessages,
  waitTime: durationMs(0),
  visibilityTimeout,
});
const bodies = (messages: readonly ReceivedMessage[]): readonly string[] => messages.map(({ body }) => body);

export const workQueueSuite = ({ name, open }: Subject<WorkQueueUnderTest>) =>
  describe(`queue of work: ${name}`, () => {
    let opened: Opened<WorkQueueUnderTest>;
    let filled: WorkQueueUnderTest;
    let groups = 0;
    /** of this test alone */
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
      if (message === undefined || more.length > 0) throw new Error('one was sent');
      return message;
    };

    test('a message says what it is, of which group, and how often it was given to somebody', async () => {
      const message = await taken('one');
      expect(message).toMatchObject({ body: 'one', group, receiveCount: 1 });
      expect(await filled.queue.changeVisibility(message, durationMs(0))).toBe('changed');
      const [again] = await filled.queue.receive(at(1));
      expect(again).toMatchObject({ id: message.id, body: 'one', group, receiveCount: 2 });
      await filled.queue.delete(again ?? message);
    });

    test('a message says how many hops led to it, and none where none did', async () => {
      await filled.send(group, 'one', hops(5));
      await filled.send(`${group}-other`, 'two');
      const messages = await filled.queue.receive(at(10));
      expect(messages.map((message) => [message.body, message.hops])).toEqual([
        ['one', 5],
        ['two', 0],
      ]);
      for (const message of messages) await filled.queue.delete(message);
    });

    test('while one of a group is in somebody’s hands, the group’s others are in nobody’s, and those of another group are', async () => {
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

    test('what is held again stays in these hands for so long from then on, and comes back after it', async () => {
      await filled.send(group, 'held');
      const [message] = await filled.queue.receive(at(1, seconds(1)));
      if (message === undefined) throw new Error('one was sent');
      expect(await filled.queue.changeVisibility(message, seconds(3))).toBe('changed');
      await filled.advance(durationMs(1_500));
      expect(await filled.queue.receive(at(1))).toEqual([]);
      await filled.advance(durationMs(2_000));
      const [again] = await filled.queue.receive(at(1));
      expect(again).toMatchObject({ id: message.id, receiveCount: 2 });
      expect(await filled.queue.changeVisibility(message, seconds(1))).toBe('receipt_expired');
      await filled.queue.delete(again ?? message);
    });

    test('of what is deleted nothing can be said any more, and to delete it twice is no fault', async () => {
      const message = await taken('done');
      await filled.queue.delete(message);
      await filled.queue.delete(message);
      expect(await filled.queue.changeVisibility(message, seconds(1))).toBe('receipt_expired');
    });

    test('its own time for a message that nobody speaks of is told', async () => {
      expect(await filled.queue.defaultVisibilityTimeout()).toBeGreaterThan(0);
    });
  });
