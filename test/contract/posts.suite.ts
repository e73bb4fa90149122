/** Contract of `Posts`: a closed connection is a result, and a connection that accepts nothing is Unavailable. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConnectionId, connectionId } from '../../lib/engine/ids.ts';
import type { Posts } from '../../lib/ports/sockets.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Opened, Subject } from './subject.ts';

export interface PostsUnderTest {
  readonly posts: Posts;
  /** the texts that arrived, in order */
  taken(): readonly { readonly to: string; readonly text: string }[];
  /** the client closes the connection */
  disconnect(id: ConnectionId): void;
  /** the client stops reading */
  block(id: ConnectionId): void;
}

/** In the gateway's format, with characters that a URL must escape. */
export const freshConnection = (): ConnectionId => connectionId(`${randomBytes(8).toString('hex')}+/=`);

export const postsSuite = ({ name, open }: Subject<PostsUnderTest>) =>
  describe(`posts: ${name}`, () => {
    let opened: Opened<PostsUnderTest>;
    beforeAll(async () => void (opened = await open()));
    afterAll(() => opened.close());

    test('texts arrive unchanged and in order', async () => {
      const id = freshConnection();
      const texts = ['{"a":"ü 🐇"}', '{"b":2}'];
      for (const text of texts) expect(await opened.port.posts.post(id, text)).toBe('posted');
      expect(opened.port.taken().filter(({ to }) => to === id)).toEqual(texts.map((text) => ({ to: id, text })));
    });

    test('a post to a disconnected client returns gone, and closing the connection succeeds', async () => {
      const id = freshConnection();
      opened.port.disconnect(id);
      expect(await opened.port.posts.post(id, '{}')).toBe('gone');
      await opened.port.posts.close(id);
    });

    test('a post to a closed connection returns gone', async () => {
      const id = freshConnection();
      await opened.port.posts.post(id, '{}');
      await opened.port.posts.close(id);
      expect(await opened.port.posts.post(id, '{}')).toBe('gone');
    });

    test('a post to a client that does not read is Unavailable', async () => {
      const id = freshConnection();
      opened.port.block(id);
      await expect(opened.port.posts.post(id, '{}')).rejects.toThrow(Unavailable);
    });
  });
