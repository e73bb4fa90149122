/** A rule of this program was broken by this program. Never the caller's fault, never temporary. */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
}

/**
 * Stops when the impossible happens, and says what was impossible.
 * @param message a function where it is asked at each id and each event: to put the words together costs more than to ask
 */
export function invariant(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantViolation(typeof message === 'string' ? message : message());
}

/** Where every member of a union has been answered. A new member stops compiling here. */
export function unreachable(value: never): never {
  throw new InvariantViolation(`a case was not answered: ${JSON.stringify(value)}`);
}
