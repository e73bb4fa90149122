/** One of the invariants (docs/ARCHITECTURE.md, "What must always hold") does not hold. */
class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: number;
  constructor(invariant: number, message: string) {
    super(`invariant ${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

export function runInvariant(number: number, holds: boolean, message: string): asserts holds {
  if (!holds) throw new Violation(number, message);
}
