/** Describes what a handler threw. A handler can throw any value, also one that has no text, and this function must not throw. */
export function describeThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return 'the handler threw a value that has no text';
  }
}
