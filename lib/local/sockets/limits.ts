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
