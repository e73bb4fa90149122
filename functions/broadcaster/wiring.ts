/** Wires the broadcaster to the gateway's management API. */
import { settingsFrom } from '../../lib/aws/environment.ts';
import { GatewayPosts, postsClient } from '../../lib/aws/posts.ts';
import type { Posts } from '../../lib/ports/sockets.ts';

export const createPosts = (): Posts => new GatewayPosts(postsClient(settingsFrom(process.env).socketsUrl));
