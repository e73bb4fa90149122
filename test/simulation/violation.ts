/** The error for a violated invariant (docs/ARCHITECTURE.md, "What must always hold"). */
class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: number;
  constructor(invariant: number, message: string) {
    super(`invariant ${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

/** @param message a function where it is asked at each event: to put the words together costs more than to ask */
export function runInvariant(number: number, holds: boolean, message: string | (() => string)): asserts holds {
  if (!holds) throw new Violation(number, typeof message === 'string' ? message : message());
}
