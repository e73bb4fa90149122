/** What code may answer with: more is no answer. */
export const answerLimits = {
  /** of a response's body; what is larger is no answer */
  bodyBytes: 1_048_576,
  /** of objects and lists within each other, as in a request to the API */
  depth: 100,
  /** of what an error says, in characters */
  message: 2_000,
} as const;
