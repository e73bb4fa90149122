interface Finding {
  readonly severity: string;
  readonly code: string;
  readonly pointer: string;
  readonly message: string;
}

/** One line for each, with its place in the file. */
export const formatFindings = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ severity, pointer, code, message }) => `${severity}  ${pointer}  ${message} (${code})`);
