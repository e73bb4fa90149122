/** API Gateway's own limits: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
export const limits = {
  /** request body, in bytes */
  payloadBytes: 10 * 1024 * 1024,
  /** the request line and the values of the headers together, in bytes */
  headBytes: 10_240,
  /** how long an integration may take where the method says nothing */
  integrationMs: 29_000,
} as const;
