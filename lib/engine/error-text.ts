/** The text of a thrown value. Any value can be thrown, even one whose properties throw when they are read. */
export function errorText(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return String(thrown);
    const { name, message } = thrown;
    return `${name}: ${message}`;
  } catch {
    return 'a value without a readable message was thrown';
  }
}

/** The message of an error without its name, or the text of another value. */
export function errorMessage(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return 'a value without a readable message was thrown';
  }
}
