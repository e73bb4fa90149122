/**
 * Global symbols that mark the objects of this package. The author's bundle and the worker each have their own copy of the package,
 * so `instanceof` fails between them. The symbols are the same in both copies.
 */
export const workflowMark: unique symbol = Symbol.for('stepwell.workflow');
/** Its value says which error class it is. */
export const errorMark: unique symbol = Symbol.for('stepwell.error');

export const isMarked = (value: unknown, kind: 'step' | 'non-retryable'): boolean =>
  typeof value === 'object' && value !== null && errorMark in value && value[errorMark] === kind;
