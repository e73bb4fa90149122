/** What was thrown, in words. Anything can be thrown, also what throws when it is read, so nothing of it is trusted to be a text. */
export function errorText(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return String(thrown);
    const { name, message } = thrown;
    return `${name}: ${message}`;
  } catch {
    return 'something that has no text was thrown';
  }
}

/** The message alone, where it is an error's. */
export function errorMessage(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return 'something that has no text was thrown';
  }
}
