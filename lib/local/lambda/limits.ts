/** Lambda's own limits: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const limits = {
  /** request and response of a synchronous invocation, in bytes */
  payloadBytes: 6_291_456,
  /** request of an asynchronous one, in bytes */
  asyncPayloadBytes: 1_048_576,
} as const;
