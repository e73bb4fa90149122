/** Configuration that clients of several AWS services share. */
import { offeredTransport } from '../contract/call-transport.ts';
import { TransportHandler } from './transport-handler.ts';

/**
 * Retries and time limits of an AWS client: three attempts, each with a time limit. The SDK's default has none, so a request
 * without a response would block its caller. SQS redelivers the message of a function that fails, and pollers poll again.
 */
export function clientRetryConfig(requestTimeoutMs: number) {
  const transport = offeredTransport();
  return {
    retryMode: 'standard',
    maxAttempts: 3,
    // Otherwise the SDK builds the chain of middleware again for each request. No client of Stepwell changes its chain after its first one.
    cacheMiddleware: true,
    requestHandler:
      transport === undefined
        ? { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true }
        : new TransportHandler(transport, requestTimeoutMs),
  };
}

/** The part of a client that removes a middleware by its name. */
interface HasMiddlewareStack {
  readonly middlewareStack: { readonly remove: (name: string) => boolean };
}

/**
 * Removes the SDK's log middleware from a client. It copies each request and response for a logger that is not configured,
 * which costs about a tenth of the CPU time of reading one item.
 */
export const withoutLogging = <Client extends HasMiddlewareStack>(client: Client): Client => {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
};
