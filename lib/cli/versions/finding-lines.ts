interface Finding {
  readonly severity: string;
  readonly code: string;
  readonly place: string;
  readonly message: string;
}

/** One line for each, with its place in the file. */
export const findingLines = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ severity, place, code, message }) => `${severity}  ${place}  ${message} (${code})`);
