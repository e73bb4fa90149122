/** This program broke one of its own rules: a bug, neither the caller's error nor temporary. */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
}

/**
 * Throws if the condition does not hold.
 * @param message a function on hot paths, so that the text is only built on failure
 */
export function invariant(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantViolation(typeof message === 'string' ? message : message());
}

/** For the default case of a complete switch. A new member of the union stops compiling here. */
export function unreachable(value: never): never {
  throw new InvariantViolation(`unhandled case: ${JSON.stringify(value)}`);
}
