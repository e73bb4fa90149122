/** Posts to open sockets, by the gateway's management address. */
import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  GoneException,
  PostToConnectionCommand,
} from '@aws-sdk/client-apigatewaymanagementapi';
import type { ConnectionId } from '../engine/ids.ts';
import type { Posts } from '../ports/posts.ts';
import { clientRetryConfig } from './client-retry-config.ts';
import { callService } from './call-service.ts';

/** What a socket takes is taken in milliseconds; one that takes nothing is not waited for. */
const requestTimeoutMs = 2_000;

/** @param url of the sockets' stage, as clients open it: the gateway is managed under the same one, over HTTP */
export const postsClient = (url: string): ApiGatewayManagementApiClient =>
  new ApiGatewayManagementApiClient({
    ...clientRetryConfig(requestTimeoutMs),
    // Whoever posts says how often: it must know that a socket takes nothing.
    maxAttempts: 1,
    endpoint: url.replace(/^ws/, 'http'),
  });

export class GatewayPosts implements Posts {
  readonly #client: ApiGatewayManagementApiClient;

  constructor(client: ApiGatewayManagementApiClient) {
    this.#client = client;
  }

  async post(id: ConnectionId, text: string): Promise<'posted' | 'gone'> {
    const command = new PostToConnectionCommand({ ConnectionId: id, Data: Buffer.from(text) });
    return (await unlessGone(() => this.#client.send(command))) ? 'posted' : 'gone';
  }

  async close(id: ConnectionId): Promise<void> {
    await unlessGone(() => this.#client.send(new DeleteConnectionCommand({ ConnectionId: id })));
  }
}

const unlessGone = async (call: () => Promise<unknown>): Promise<boolean> => {
  try {
    await callService('a socket', call);
    return true;
  } catch (error) {
    if (error instanceof GoneException) return false;
    throw error;
  }
};
