/**
 * Why an attempt failed. Policies look at the cause, people read the message. Time-outs, cancellations and
 * provider errors are different causes and are never mistaken for one another.
 */
export const failureCauses = [
  /** the author's code threw */
  'error',
  /** the attempt took longer than its limit, which is not a cancellation */
  'timeout',
  /** what the node called answered with an error, or could not be reached */
  'provider_error',
  /** what the node called asked to be left alone for a while */
  'rate_limit',
  /** an input or output contract does not hold */
  'contract_violated',
  /** the author's configuration cannot work, however often it is tried */
  'invalid',
  /** the node was asked for something that is not allowed, such as a private address */
  'forbidden',
  /** a parent failed, and the node's policy hands that on */
  'upstream_failure',
  /** the node's message died: its workers never got to an answer */
  'lost',
  /** the run's deadline passed */
  'deadline',
  /** the run's budget is used up */
  'budget',
  /** our own bug */
  'internal',
] as const;

export type FailureCause = (typeof failureCauses)[number];

/** The causes that trying again can mend; an author's `retry.retry_on` chooses among them. */
export const retryableCauses = [
  'error',
  'timeout',
  'provider_error',
  'rate_limit',
  'contract_violated',
  'lost',
] as const satisfies readonly FailureCause[];
export type RetryableCause = (typeof retryableCauses)[number];
