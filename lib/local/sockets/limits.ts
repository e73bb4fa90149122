/** API Gateway's own limits of sockets: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
export const socketLimits = {
  /** one message, either way, in bytes */
  messageBytes: 131_072,
  /** one frame of a client's; a longer message comes in several */
  frameBytes: 32_768,
  /** nothing has passed for so long */
  idleMs: 600_000,
  connectionMs: 7_200_000,
} as const;
