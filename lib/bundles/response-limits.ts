/** Limits of what deployed code returns. */
export const responseLimits = {
  /** body of a response; a larger body makes the response invalid */
  bodyBytes: 1_048_576,
  /** error message, in characters */
  message: 2_000,
} as const;
