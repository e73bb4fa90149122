/** A rule of this program was broken by this program. Never the caller's fault, never temporary. */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
}

/** Stops when the impossible happens, and says what was impossible. */
export function invariant(claim: boolean, message: string): asserts claim {
  if (!claim) throw new InvariantViolation(message);
}

/** Where every member of a union has been answered. A new member stops compiling here. */
export function unreachable(value: never): never {
  throw new InvariantViolation(`a case was not answered: ${JSON.stringify(value)}`);
}
