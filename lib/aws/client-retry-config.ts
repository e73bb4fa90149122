/**
 * How long a client of AWS waits: for at most three answers. The SDK by itself waits for one without end, so a request that was taken
 * and never answered would hold whoever sent it. A function comes back by its message, or its caller does; a poll is repeated.
 */
export const clientRetryConfig = (requestTimeoutMs: number) => ({
  retryMode: 'standard',
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
});
