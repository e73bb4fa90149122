/**
 * The world did not answer, or answered that it cannot now. Temporary: the outcome of what was asked is unknown,
 * and the same thing may be asked again. Every adapter throws this, and only this, for such trouble.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
  constructor(what: string, options?: { cause: unknown }) {
    super(`${what} is not available now`, options);
  }
}
