/**
 * Causes of failures. Policies evaluate the cause, people read the message. Timeouts, cancellations and provider errors are different
 * causes and are never confused.
 */
export const failureCauses = [
  /** the author's code threw */
  'error',
  /** the attempt exceeded its timeout, which is not a cancellation */
  'timeout',
  /** a remote service responded with an error, or was not reachable */
  'provider_error',
  /** a remote service asked to slow down */
  'rate_limit',
  /** the input or output violates its contract */
  'contract_violated',
  /** the author's configuration cannot work; a retry is useless */
  'invalid',
  /** the node attempted something that is not allowed, such as a private address */
  'forbidden',
  /** a parent failed, and the node's policy propagates the failure */
  'upstream_failure',
  /** the node's message or its deliveries were lost before there was a result */
  'lost',
  /** the run's deadline passed */
  'deadline',
  /** the run's budget is used up */
  'budget',
  /** a bug in Stepwell */
  'internal',
] as const;

export type FailureCause = (typeof failureCauses)[number];

/** Causes for which a retry can succeed; an author's `retry.retry_on` selects among them. */
export const retryableCauses = [
  'error',
  'timeout',
  'provider_error',
  'rate_limit',
  'contract_violated',
  'lost',
] as const satisfies readonly FailureCause[];
export type RetryableCause = (typeof retryableCauses)[number];
