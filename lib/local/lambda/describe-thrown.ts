/** What a handler threw, in words. Anything can be thrown, also what has no text: a listener that reads it must not throw itself. */
export function describeThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return 'something that has no text was thrown';
  }
}
