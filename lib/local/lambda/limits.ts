/** Lambda's own limits: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const limits = {
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
