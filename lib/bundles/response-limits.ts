/** What code may answer with: more is no answer. */
export const responseLimits = {
  /** of a response's body; what is larger is no answer */
  bodyBytes: 1_048_576,
  /** of what an error says, in characters */
  message: 2_000,
} as const;
