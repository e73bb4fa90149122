/** The limits of AWS services that the embedded cloud enforces. */

/** Lambda's own limits: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const lambdaLimits = {
  /** request and response of a synchronous invocation, in bytes */
  payloadBytes: 6_291_456,
  /** request of an asynchronous one, in bytes */
  asyncPayloadBytes: 1_048_576,
  /** of the environment variables as JSON */
  environmentBytes: 4_096,
  /** concurrent executions of an account; a new account may have 10 */
  accountConcurrency: 1_000,
  /** the part of the account's concurrency that reservations must leave to functions without one */
  minUnreservedConcurrency: 100,
} as const;

/** The largest request to a service of AWS that the embedded cloud takes, in bytes. S3 itself takes 5 GB. */
export const maxUploadBytes = 80 * 1024 * 1024;

/** API Gateway's own limits: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
export const apiLimits = {
  /** request body, in bytes */
  payloadBytes: 10 * 1024 * 1024,
  /** the request line and the values of the headers together, in bytes */
  headBytes: 10_240,
  /** how long an integration may take where the method says nothing */
  integrationMs: 29_000,
} as const;

/** Of an HTTP API, where they differ: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
export const httpApiLimits = {
  /** how long an integration may take, at most and where it says nothing */
  integrationMs: 30_000,
} as const;

/** API Gateway's own limits of sockets: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
export const socketLimits = {
  /** one message in either direction, in bytes */
  messageBytes: 131_072,
  /** one frame from a client; a longer message needs several */
  frameBytes: 32_768,
  /** maximum idle time */
  idleMs: 600_000,
  connectionMs: 7_200_000,
} as const;
