/**
 * How things of this package are known for what they are. The author's bundle holds a copy of the package of its own, and so
 * does whoever runs it: classes of the one are none of the other's, but these names are the same in both.
 */
export const workflowMark: unique symbol = Symbol.for('stepwell.workflow');
/** What it says: which of the errors it is. */
export const errorMark: unique symbol = Symbol.for('stepwell.error');

export const isMarked = (value: unknown, kind: 'step' | 'non-retryable'): boolean =>
  typeof value === 'object' && value !== null && errorMark in value && value[errorMark] === kind;
