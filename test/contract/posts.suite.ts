/** What every poster must hold: a text arrives as it is, a socket that is gone is no trouble, and one that takes nothing is. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConnectionId, connectionId } from '../../lib/engine/ids.ts';
import type { Posts } from '../../lib/ports/posts.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Opened, Subject } from './subject.ts';

export interface PostsUnderTest {
  readonly posts: Posts;
  /** what has arrived, in order */
  taken(): readonly { readonly to: string; readonly text: string }[];
  /** from now on there is no such socket */
  disconnect(id: ConnectionId): void;
  /** from now on the socket takes nothing */
  block(id: ConnectionId): void;
}

/** As the gateway makes them: with letters that an address spells otherwise. */
export const freshConnection = (): ConnectionId => connectionId(`${randomBytes(8).toString('hex')}+/=`);

export const postsSuite = ({ name, open }: Subject<PostsUnderTest>) =>
  describe(`posts: ${name}`, () => {
    let opened: Opened<PostsUnderTest>;
    beforeAll(async () => void (opened = await open()));
    afterAll(() => opened.close());

    test('texts arrive as they were sent, in order', async () => {
      const id = freshConnection();
      const texts = ['{"a":"ü 🐇"}', '{"b":2}'];
      for (const text of texts) expect(await opened.port.posts.post(id, text)).toBe('posted');
      expect(opened.port.taken().filter(({ to }) => to === id)).toEqual(texts.map((text) => ({ to: id, text })));
    });

    test('one that is gone is said to be, and can be closed', async () => {
      const id = freshConnection();
      opened.port.disconnect(id);
      expect(await opened.port.posts.post(id, '{}')).toBe('gone');
      await opened.port.posts.close(id);
    });

    test('one that is closed is gone', async () => {
      const id = freshConnection();
      await opened.port.posts.post(id, '{}');
      await opened.port.posts.close(id);
      expect(await opened.port.posts.post(id, '{}')).toBe('gone');
    });

    test('one that takes nothing is temporary trouble', async () => {
      const id = freshConnection();
      opened.port.block(id);
      await expect(opened.port.posts.post(id, '{}')).rejects.toThrow(Unavailable);
    });
  });
