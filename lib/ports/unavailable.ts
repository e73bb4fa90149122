/**
 * An external service did not respond, or responded with a temporary error. The outcome of the request is unknown, and
 * the caller may repeat it. Every adapter throws this error, and only this one, for temporary errors.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
  constructor(what: string, options?: { cause: unknown }) {
    super(`${what} is not available now`, options);
  }
}
