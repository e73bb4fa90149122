/** Posts to WebSocket connections through API Gateway's management API. */
import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  GoneException,
  PostToConnectionCommand,
} from '@aws-sdk/client-apigatewaymanagementapi';
import type { ConnectionId } from '../engine/ids.ts';
import type { Posts } from '../ports/sockets.ts';
import { clientRetryConfig } from './client-config.ts';
import { callService } from './call-service.ts';

/** A healthy connection accepts a message within milliseconds. */
const requestTimeoutMs = 2_000;

/** @param url the WebSocket URL of the stage; the management API has the same URL with HTTP */
export const postsClient = (url: string): ApiGatewayManagementApiClient =>
  new ApiGatewayManagementApiClient({
    ...clientRetryConfig(requestTimeoutMs),
    // No retries here: the caller must learn that a connection does not accept messages.
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
